#include "wire/connection.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "base/error.h"

namespace paddle::wire {
namespace {

constexpr size_t read_size = 256u << 10;
constexpr size_t bulk_part = 512u << 10;   // read in one go, so that it is seen while in the cache
constexpr size_t small_bulk = 4u << 10;    // up to here bulk is copied behind its head
constexpr size_t flush_above = 32u << 10;  // gathered bytes that leave without flush()
constexpr size_t max_kept = 256u << 20;    // copies for a peer that does not read
constexpr size_t max_gathered = 4u << 20;  // small answers that wait for one that does not read
constexpr size_t max_pieces = 64;          // per system call
constexpr int reads_per_turn = 16;         // before other connections get theirs

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

std::string name_of_peer(const tcp::socket& socket) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) return "a peer that is gone";
  return peer.address().to_string() + ":" + std::to_string(peer.port());
}

}  // namespace

std::shared_ptr<Connection> Connection::start(tcp::socket socket, Handler& handler, bool greeting) {
  std::shared_ptr<Connection> c(new Connection(std::move(socket), handler, greeting));
  c->await_read();
  return c;
}

Connection::Connection(tcp::socket socket, Handler& handler, bool greeting)
    : socket_(std::move(socket)),
      handler_(handler),
      peer_(name_of_peer(socket_)),
      builder_(512),
      accepted_(greeting),
      greeting_(greeting),
      read_room_(read_size / 8) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
}

Connection::~Connection() = default;

// ---- reading

// Only one side of a connection may stop reading, or both could wait for each other.
bool Connection::has_enough() const { return accepted_ && gathered_.size() > max_gathered; }

void Connection::await_read() {
  if (!open_ || reading_) return;
  paused_ = has_enough();
  if (paused_) return;
  reading_ = true;
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->reading_ = false;
                       if (error) return self->fail(error.message());
                       self->read_some();
                     });
}

// Reads until the socket is empty, or until others should have their turn. A system call fills the
// place of the bulk first and the buffer for what follows it second.
void Connection::read_some() {
  auto* room = reinterpret_cast<std::byte*>(read_room_.data());
  for (int turn = 0; turn < reads_per_turn && open_ && !has_enough(); ++turn) {
    const bool direct = state_ == State::bulk && !discards_;
    assert(!direct || read_begin_ == read_end_);
    if (read_begin_ == read_end_) read_begin_ = read_end_ = 0;
    std::byte* bulk_at = direct ? landing_.data() + (landing_.size() - bulk_left_) : nullptr;
    const bool more = direct && bulk_left_ > bulk_part;
    const std::array<asio::mutable_buffer, 2> parts = {
        asio::mutable_buffer(bulk_at, !direct ? 0
                                      : more  ? bulk_part
                                              : bulk_left_),
        asio::mutable_buffer(room + read_end_, more ? 0 : read_size - read_end_)};
    boost::system::error_code error;
    const size_t wanted = parts[0].size() + parts[1].size();
    size_t got = socket_.read_some(parts, error);
    if (error == asio::error::would_block || error == asio::error::try_again) break;
    if (error)
      return fail(error == asio::error::eof
                      ? (within_frame() ? "the other side closed it within a message"
                                        : "the other side closed it")
                      : error.message());
    bytes_in_ += got;
    last_heard_ = Clock::now();
    const size_t in_bulk = direct ? std::min<size_t>(got, bulk_left_) : 0;
    read_end_ += got - in_bulk;
    parse(in_bulk);
    if (got < wanted && !(direct && got == in_bulk && in_bulk > 0 && bulk_left_ > 0)) break;
  }
  if (open_) handler_.arrived(*this);
  await_read();
}

// `in_bulk` bytes are in their place already, the rest is in the buffer.
void Connection::parse(size_t in_bulk) {
  try {
    if (in_bulk > 0) take_bulk(in_bulk);
    while (open_ && parse_step()) {
    }
  } catch (const Error& e) {
    return fail(e.what());
  }
  if (!open_) return;
  // What is left is the start of a frame: move it to the front, so that there is room for the rest.
  auto* room = reinterpret_cast<std::byte*>(read_room_.data());
  const size_t left = read_end_ - read_begin_;
  if (left > 0 && read_begin_ > 0) std::memmove(room, room + read_begin_, left);
  read_begin_ = 0;
  read_end_ = left;
}

// One part of a frame; false where more bytes are needed.
bool Connection::parse_step() {
  auto* room = reinterpret_cast<std::byte*>(read_room_.data());
  const size_t have = read_end_ - read_begin_;
  if (state_ == State::header) {
    if (have < header_bytes) return false;
    header_ =
        read_header(std::span<const std::byte, header_bytes>(room + read_begin_, header_bytes),
                    greeting_ ? max_greeting : max_head);
    read_begin_ += header_bytes;
    head_room_.resize(header_.head / 8);
    head_have_ = 0;
    state_ = State::head;
    return true;
  }
  if (state_ == State::head) {
    const size_t take = std::min(have, header_.head - head_have_);
    std::memcpy(reinterpret_cast<std::byte*>(head_room_.data()) + head_have_, room + read_begin_,
                take);
    head_have_ += take;
    read_begin_ += take;
    if (head_have_ < header_.head) return false;
    greeting_ = false;
    begin_bulk();
    return true;
  }
  const auto take = static_cast<size_t>(std::min<uint64_t>(have, bulk_left_));
  if (!discards_ && take > 0)
    std::memcpy(landing_.data() + (landing_.size() - bulk_left_), room + read_begin_, take);
  read_begin_ += take;
  take_bulk(take);
  if (bulk_left_ > 0) return false;
  finish_frame();
  return true;
}

void Connection::begin_bulk() {
  const msg::Message& head = read_head(std::as_bytes(std::span(head_room_)));
  bulk_left_ = header_.bulk;
  landing_ = {};
  if (bulk_left_ > 0) landing_ = handler_.land(*this, head, bulk_left_);
  assert(landing_.empty() || landing_.size() == bulk_left_);
  discards_ = landing_.empty();
  state_ = State::bulk;
}

void Connection::take_bulk(size_t bytes) {
  const size_t at = landing_.size() - (discards_ ? 0 : bulk_left_);
  bulk_left_ -= bytes;
  if (!discards_ && bytes > 0) handler_.landed(*this, landing_.subspan(at, bytes));
}

void Connection::finish_frame() {
  state_ = State::header;
  ++frames_in_;
  // Verified when its bulk began, and nobody has touched it since.
  handler_.handle(*this, *msg::GetMessage(head_room_.data()), header_.bulk);
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

void Connection::send_body(uint64_t id, msg::Body type, flatbuffers::Offset<void> body, Bytes bulk,
                           Bulk lifetime) {
  if (!open_) return;
  msg::MessageBuilder message(builder_);
  message.add_id(id);
  message.add_body_type(type);
  message.add_body(body);
  msg::FinishMessageBuffer(builder_, message.Finish());
  const size_t head = padded(builder_.GetSize());
  std::byte* out = gather(header_bytes + head);
  write_header(out, {static_cast<uint32_t>(head), bulk.size()});
  std::memcpy(out + header_bytes, builder_.GetBufferPointer(), builder_.GetSize());
  std::memset(out + header_bytes + builder_.GetSize(), 0, head - builder_.GetSize());
  if (bulk.empty()) {
    if (gathered_.size() > flush_above) flush();
    return;
  }
  if (bulk.size() <= small_bulk) {
    std::memcpy(gather(bulk.size()), bulk.data(), bulk.size());
    if (gathered_.size() > flush_above) flush();
    return;
  }
  pieces_.push_back({.size = bulk.size(), .outside = bulk.data()});
  queued_ += bulk.size();
  flush();
  if (lifetime == Bulk::stays || !open_ || pieces_.empty()) return;
  Piece& rest = pieces_.back();  // what the kernel did not take of it
  if (queued_ > max_kept) return fail("the other side does not read what it asked for");
  rest.kept.assign(rest.outside, rest.outside + rest.size);
  rest.outside = rest.kept.data();
}

void Connection::flush() {
  if (open_ && !writing_ && !pieces_.empty()) write_some();
}

void Connection::write_some() {
  std::array<asio::const_buffer, max_pieces> parts;
  while (!pieces_.empty()) {
    size_t count = 0, bytes = 0;
    for (const Piece& p : pieces_) {
      parts[count++] = {p.outside ? p.outside : gathered_.data() + p.begin, p.size};
      bytes += p.size;
      if (count == max_pieces) break;
    }
    boost::system::error_code error;
    const size_t sent = socket_.write_some(std::span(parts.data(), count), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return await_write();
    if (error) return fail(error.message());
    bytes_out_ += sent;
    drop_sent(sent);
    if (sent < bytes) return await_write();
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
    if (p.size == 0) pieces_.pop_front();
  }
  if (!pieces_.empty()) return;
  gathered_.clear();
  if (paused_) await_read();
}

void Connection::await_write() {
  if (writing_ || !open_) return;
  writing_ = true;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->writing_ = false;
                       if (!self->open_) return;
                       if (error) return self->fail(error.message());
                       self->write_some();
                     });
}

// ---- ending

void Connection::close(const std::string& why) { fail(why); }

void Connection::fail(const std::string& why) {
  if (!open_) return;
  const auto self = shared_from_this();  // the handler may let go of us
  open_ = false;
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  pieces_.clear();
  gathered_.clear();
  queued_ = 0;
  handler_.closed(*this, why);
}

}  // namespace paddle::wire
