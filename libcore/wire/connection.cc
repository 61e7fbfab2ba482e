#include "wire/connection.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "base/error.h"

namespace paddle::wire {
namespace {

constexpr size_t read_ahead = 32u << 10;   // behind large bulk: that of the next head is copied
constexpr size_t bulk_part = 256u << 10;   // read in one go, so that it is seen while in the cache
constexpr size_t small_bulk = 4u << 10;    // up to here bulk is copied behind its head
constexpr size_t flush_above = 32u << 10;  // gathered bytes that leave without flush()
constexpr size_t max_kept = 256u << 20;    // copies for a peer that does not read
// Above this no further message is read from a peer that does not read.
constexpr size_t enough_kept = 4u << 20;   // copies that wait for it
constexpr size_t max_pieces = 64;          // per system call
constexpr size_t free_head = 64u << 10;    // of a head that needs no budget
constexpr size_t lasting_head = 1u << 20;  // memory for heads that is kept for the next one
constexpr int reads_per_turn = 16;         // before other connections get theirs

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

// Of the buffer, behind what is in it: large messages come one behind the other, and so do small
// ones.
size_t read_room(const FrameHeader& last, size_t buffer, size_t have) {
  const bool large = last.bulk > buffer && have < read_ahead && read_ahead < buffer;
  return (large ? read_ahead : buffer) - have;
}

}  // namespace

std::shared_ptr<Connection> Connection::start(std::unique_ptr<Stream> stream, Handler& handler,
                                              bool accepted, ByteBudget* memory) {
  std::shared_ptr<Connection> c(new Connection(std::move(stream), handler, accepted, memory));
  c->await_read();
  return c;
}

Connection::Connection(std::unique_ptr<Stream> stream, Handler& handler, bool accepted,
                       ByteBudget* memory)
    : stream_(std::move(stream)),
      handler_(handler),
      accepted_(accepted),
      limits_(accepted ? greeting_limits : trainer_limits),
      memory_(memory),
      read_room_(limits_.buffer / 8) {}

void Connection::set_limits(const Limits& limits) {
  limits_ = limits;
  limits_.buffer = std::max(limits.buffer, read_room_.size() * 8);
  if (read_room_.size() * 8 < limits_.buffer) read_room_.resize(limits_.buffer / 8);
}

Connection::~Connection() = default;

// ---- waiting

void Connection::wait_for(StreamEvent event) {
  bool& pending = pending_[static_cast<size_t>(event)];
  if (pending) return;
  pending = true;
  stream_->wait(event, {shared_from_this(), static_cast<StreamUser*>(this)});
}

// Reader and writer may wait for the same event: a stream may have to write in order to read.
void Connection::on_ready(StreamEvent event, const std::error_code& error) {
  pending_[static_cast<size_t>(event)] = false;
  if (!open_) return;
  if (error) return fail(error.message());
  if (event == StreamEvent::closed) {
    peer_closed_ = true;
    if (held_) fail("the other side closed it");
    return;
  }
  if (writer_waits_ == event) {
    writer_waits_.reset();
    write_some();
  }
  if (open_ && reader_waits_ == event) {
    reader_waits_.reset();
    read_some();
  }
}

// ---- reading

// Whether to read no further message for now, as the peer does not read its answers. With it the
// copies for a peer are at most enough_kept and one answer more. Why nobody waits for ever:
// - Only the side that accepted stops reading. The side that connected reads whenever it runs its
//   io_context, whether or not it could write; so what is queued here leaves, and reading goes on.
// - It stops between messages only. A message whose bulk is coming in has a place in memory that
//   others may wait for; it comes in to its end, and a connection that stops has no such place.
bool Connection::has_enough() const {
  return accepted_ && state_ == State::header &&
         (gathered_.size() > limits_.answers || kept_ > enough_kept ||
          (kept_ > 0 && memory_.budget() && memory_.budget()->used_up()));
}

void Connection::await_read(StreamEvent until) {
  if (!open_ || reader_waits_ || held_) return;
  paused_ = has_enough();
  if (paused_) return;
  if (unparsed_)
    return asio::post(stream_->executor(), [self = shared_from_this()] { self->read_on(); });
  reader_waits_ = until;
  wait_for(until);
}

// Reads until there is nothing more, or until others should have their turn. One call fills the
// place of the bulk first and the buffer for what follows it second.
void Connection::read_some() {
  StreamEvent until = StreamEvent::readable;
  for (int turn = 0; turn < reads_per_turn && open_ && !held_ && !has_enough(); ++turn) {
    const std::span<std::byte> place = next_piece();
    const bool direct = place.size() > small_bulk;
    assert(!direct || read_begin_ == read_end_);
    if (read_begin_ == read_end_) read_begin_ = read_end_ = 0;
    const size_t first = direct ? std::min(place.size(), bulk_part) : 0;
    const size_t second =
        first < place.size() && direct ? 0 : read_room(header_, read_room_.size() * 8, read_end_);
    auto* buffer = reinterpret_cast<std::byte*>(read_room_.data());  // grows with the limits
    const std::array<iovec, 2> parts = {{{place.data(), first}, {buffer + read_end_, second}}};
    const Stream::Moved m = stream_->read_some(parts);
    if (m.kind == Stream::Moved::Kind::again) {
      until = m.until;
      break;
    }
    if (m.kind == Stream::Moved::Kind::failed) return fail(m.error.message());
    if (m.kind == Stream::Moved::Kind::ended)
      return fail(within_frame() ? "the other side closed it within a message"
                                 : "the other side closed it");
    bytes_in_ += m.bytes;
    last_heard_ = Clock::now();
    const size_t in_bulk = direct ? std::min(m.bytes, place.size()) : 0;
    read_end_ += m.bytes - in_bulk;
    parse(in_bulk);
    const bool within_bulk = in_bulk > 0 && m.bytes == in_bulk && bulk_left_ > 0;
    if (m.bytes < first + second && !within_bulk) break;
  }
  if (open_) handler_.arrived(*this);
  await_read(until);
}

// `in_bulk` bytes are in their place already, the rest is in the buffer.
void Connection::parse(size_t in_bulk) {
  try {
    if (in_bulk > 0) take_bulk(in_bulk);
    while (open_ && !held_ && !has_enough() && parse_step()) {
    }
  } catch (const Error& e) {
    return fail(e.what());
  }
  if (!open_) return;
  unparsed_ = has_enough();
  // What is left is the start of a frame, or frames for later: move it to the front, so that there
  // is space for the rest.
  auto* buffer = reinterpret_cast<std::byte*>(read_room_.data());
  const size_t left = read_end_ - read_begin_;
  if (left > 0 && read_begin_ > 0) std::memmove(buffer, buffer + read_begin_, left);
  read_begin_ = 0;
  read_end_ = left;
}

// One part of a frame; false where more bytes are needed, or the handler holds it.
bool Connection::parse_step() {
  const auto* buffer = reinterpret_cast<const std::byte*>(read_room_.data());
  if (state_ == State::header) {
    if (read_end_ - read_begin_ < header_bytes) return false;
    read_header_at(buffer + read_begin_);
    return true;
  }
  if (state_ == State::head) return parse_head() && begin_bulk();
  parse_bulk();
  if (bulk_left_ > 0) return false;
  finish_frame();
  return true;
}

void Connection::read_header_at(const std::byte* at) {
  header_ = read_header(std::span<const std::byte, header_bytes>(at, header_bytes), limits_.head);
  read_begin_ += header_bytes;
  head_have_ = 0;
  state_ = State::head;
}

bool Connection::parse_head() {
  if (head_have_ == header_.head) return true;  // was held here, and read before
  const auto* buffer = reinterpret_cast<const std::byte*>(read_room_.data());
  const size_t take = std::min(read_end_ - read_begin_, header_.head - head_have_);
  grow_head(head_have_ + take);
  std::memcpy(reinterpret_cast<std::byte*>(head_room_.data()) + head_have_, buffer + read_begin_,
              take);
  head_have_ += take;
  read_begin_ += take;
  if (head_have_ < header_.head) return false;
  message_ = read_message(std::as_bytes(std::span(head_room_)).first(header_.head));
  return true;
}

// Memory is taken as bytes arrive, whatever length was declared.
void Connection::grow_head(size_t bytes) {
  const size_t have = head_room_.size() * 8;
  if (bytes <= have) return;
  const size_t want = padded(std::min<size_t>(header_.head, std::max(bytes, 2 * have)));
  const size_t paid = std::max(have, free_head);
  require(want <= paid || memory_.add(want - paid), Error::Kind::protocol,
          "a message with a head of ", header_.head,
          " bytes, and the memory for messages that are coming in is used up (",
          memory_.budget() ? memory_.budget()->limit() >> 10 : 0, " KiB, see --memory_limit)");
  head_room_.reserve(want / 8);
  head_room_.resize(want / 8);
}

// A long head, and what was read from it, do not stay until the next message comes.
void Connection::shrink_head() {
  const size_t have = head_room_.size() * 8;
  if (have <= lasting_head) return;
  memory_.remove(have - free_head);
  head_room_ = {};
  message_ = {};
}

bool Connection::begin_bulk() {
  landing_ = header_.bulk > 0 ? handler_.land(*this, message_, header_.bulk) : Landing{};
  if (!open_) return false;
  held_ = landing_.kind == Landing::Kind::hold;
  if (held_) {
    if (peer_closed_)
      fail("the other side closed it");
    else
      wait_for(StreamEvent::closed);
    return false;
  }
  if (landing_.kind == Landing::Kind::into && landing_.pieces.empty())
    landing_.pieces = {&landing_.memory, 1};
  bulk_left_ = header_.bulk;
  piece_ = piece_at_ = 0;
  state_ = State::bulk;
  skip_full_pieces();
  return true;
}

void Connection::skip_full_pieces() {
  while (piece_ < landing_.pieces.size() && piece_at_ == landing_.pieces[piece_].size()) {
    ++piece_;
    piece_at_ = 0;
  }
}

// Where the next bytes go, without those behind them; empty where nobody wants them.
std::span<std::byte> Connection::next_piece() const {
  if (state_ != State::bulk || bulk_left_ == 0 || landing_.pieces.empty()) return {};
  return landing_.pieces[piece_].subspan(piece_at_);
}

void Connection::parse_bulk() {
  const auto* buffer = reinterpret_cast<const std::byte*>(read_room_.data());
  while (open_ && bulk_left_ > 0 && read_begin_ < read_end_) {
    const std::span<std::byte> place = next_piece();
    auto take = static_cast<size_t>(std::min<uint64_t>(read_end_ - read_begin_, bulk_left_));
    if (landing_.kind == Landing::Kind::into) {
      take = std::min(take, place.size());
      if (take > 0) std::memcpy(place.data(), buffer + read_begin_, take);
    }
    read_begin_ += take;
    take_bulk(take);
  }
}

// So many bytes of the bulk are where they belong, all in one piece.
void Connection::take_bulk(size_t bytes) {
  const std::span<std::byte> place = next_piece();
  bulk_left_ -= bytes;
  if (landing_.kind != Landing::Kind::into) return;
  piece_at_ += bytes;
  skip_full_pieces();
  assert((bulk_left_ == 0) == (piece_ == landing_.pieces.size()));
  if (bytes > 0) handler_.landed(*this, place.first(bytes));
}

void Connection::finish_frame() {
  state_ = State::header;
  ++messages_in_;
  handler_.handle(*this, message_, header_.bulk);
  shrink_head();
}

// ---- holding

void Connection::resume() {
  if (!open_ || !held_) return;
  held_ = false;
  last_heard_ = Clock::now();
  asio::post(stream_->executor(), [self = shared_from_this()] { self->read_on(); });
}

// Something may be in the buffer already.
void Connection::read_on() {
  if (!open_ || held_) return;
  parse(0);
  if (open_) read_some();
}

// ---- writing

std::byte* Connection::gather(size_t size) {
  const size_t at = gathered_.size();
  gathered_.resize(at + size);
  const bool extends = !pieces_.empty() && pieces_.back().outside == nullptr &&
                       pieces_.back().begin + pieces_.back().size == at;
  if (extends)
    pieces_.back().size += size;
  else
    pieces_.push_back({.begin = at, .size = size});
  queued_ += size;
  return gathered_.data() + at;
}

void Connection::send_frame(Bytes head, std::span<const Bytes> pieces, Bulk lifetime) {
  ++messages_out_;
  uint64_t bulk = 0;
  for (const Bytes& p : pieces) bulk += p.size();
  const size_t size = padded(head.size());
  std::byte* out = gather(header_bytes + size);
  write_header(out, {static_cast<uint32_t>(size), bulk});
  std::memcpy(out + header_bytes, head.data(), head.size());
  std::memset(out + header_bytes + head.size(), 0, size - head.size());
  size_t large = 0;  // pieces that are sent from where they lie
  for (const Bytes& p : pieces) {
    if (p.empty()) continue;
    if (p.size() <= small_bulk) {
      std::memcpy(gather(p.size()), p.data(), p.size());
      continue;
    }
    pieces_.push_back(
        {.size = p.size(), .outside = p.data(), .kept = {}, .live = lifetime == Bulk::live});
    queued_ += p.size();
    ++large;
  }
  if (large > 0 || gathered_.size() > flush_above) flush();
  if (large > 0 && lifetime == Bulk::changes && open_) keep_unsent(large);
}

// Copies what the kernel did not take of the last so many pieces from outside.
void Connection::keep_unsent(size_t pieces) {
  if (pieces_.empty()) return;
  if (queued_ > max_kept) return fail("the other side does not read what it asked for");
  for (auto p = pieces_.rbegin(); p != pieces_.rend() && pieces > 0; ++p) {
    if (p->outside == nullptr) continue;
    --pieces;
    p->kept.assign(p->outside, p->outside + p->size);
    p->outside = p->kept.data();
    kept_ += p->kept.size();
    memory_.add_anyway(p->kept.size());
  }
}

// The kernel took a part of the first piece, which may change now: the rest of a word that was cut
// is sent as it is.
void Connection::keep_word() {
  Piece& p = pieces_.front();
  const size_t rest = std::min((8 - reinterpret_cast<uintptr_t>(p.outside) % 8) % 8, p.size);
  if (rest == 0) return;
  std::vector<std::byte> word(p.outside, p.outside + rest);
  p.outside += rest;
  p.size -= rest;
  if (p.size == 0) pieces_.pop_front();
  kept_ += rest;
  memory_.add_anyway(rest);
  Piece& first = pieces_.emplace_front();
  first.size = rest;
  first.kept = std::move(word);
  first.outside = first.kept.data();
}

void Connection::flush() {
  if (open_ && !writer_waits_ && !pieces_.empty()) write_some();
}

void Connection::write_some() {
  std::array<iovec, max_pieces> parts;
  while (!pieces_.empty()) {
    size_t count = 0, bytes = 0;
    for (const Piece& p : pieces_) {
      const std::byte* from = p.outside ? p.outside : gathered_.data() + p.begin;
      parts[count++] = {const_cast<std::byte*>(from), p.size};
      bytes += p.size;
      if (count == max_pieces) break;
    }
    const Stream::Moved m = stream_->write_some(std::span(parts).first(count));
    if (m.kind == Stream::Moved::Kind::again) return await_write(m.until);
    if (m.kind != Stream::Moved::Kind::some) return fail(m.error.message());
    bytes_out_ += m.bytes;
    drop_sent(m.bytes);
    if (m.bytes < bytes) return await_write(StreamEvent::writable);
  }
}

void Connection::drop_sent(size_t bytes) {
  queued_ -= bytes;
  while (bytes > 0) {
    Piece& p = pieces_.front();
    const size_t part = std::min(bytes, p.size);
    bytes -= part;
    p.size -= part;
    if (p.outside)
      p.outside += part;
    else
      p.begin += part;
    if (p.size > 0) {
      if (p.live) keep_word();
      break;
    }
    kept_ -= p.kept.size();
    memory_.remove(p.kept.size());
    pieces_.pop_front();
  }
  if (pieces_.empty()) gathered_.clear();
  if (!paused_ || has_enough()) return;
  last_heard_ = Clock::now();
  await_read();
}

void Connection::await_write(StreamEvent until) {
  if (writer_waits_ || !open_) return;
  writer_waits_ = until;
  wait_for(until);
}

// ---- ending

void Connection::close(const std::string& why) { fail(why); }

void Connection::fail(const std::string& why) {
  if (!open_) return;
  const auto self = shared_from_this();  // the handler may let go of us
  open_ = false;
  stream_->close();
  pieces_.clear();
  gathered_.clear();
  memory_.remove(kept_);
  queued_ = kept_ = 0;
  handler_.closed(*this, why);
}

}  // namespace paddle::wire
