// One connection that carries frames both ways over a stream. It lives on the thread that runs its
// io_context; nothing here may be called from another one.
//
// Reading: many small frames are parsed from one system call; bulk bytes go straight to the memory
// that the handler names. Writing: heads and small bulk are gathered, large bulk is sent from where
// it lies; flush() hands all of it to the kernel in one call.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/stream.h"

namespace paddle::wire {

using Clock = std::chrono::steady_clock;

class Connection;

// What to do with the bulk behind a head.
struct Landing {
  enum class Kind : uint8_t {
    into,     // it goes into `memory`, or into `pieces` one behind the other
    discard,  // it is read and forgotten
    hold,     // nothing more is read until resume(), which leads to another call of land()
  };
  Kind kind = Kind::discard;
  std::span<std::byte> memory;
  std::span<const std::span<std::byte>> pieces;  // the list stays until handle() returns

  static Landing into(std::span<std::byte> memory) { return {Kind::into, memory, {}}; }
  static Landing into_pieces(std::span<const std::span<std::byte>> pieces) {
    return {Kind::into, {}, pieces};
  }
  static Landing discard() { return {}; }
  static Landing hold() { return {Kind::hold, {}, {}}; }
};

// What a connection's owner does with what arrives. What these throw as Error ends the connection
// with that sentence.
class Handler {
 public:
  virtual ~Handler() = default;
  // The head of a frame with `bulk` > 0 bytes behind it: where these shall go. Memory or pieces
  // have exactly as many bytes.
  virtual Landing land(Connection& from, const Message& message, uint64_t bulk) = 0;
  // A part of the bulk lies where land() said, behind those before it, and is still in the cache:
  // the cheapest moment to look at it. A part never reaches from one piece into the next.
  virtual void landed(Connection& from, std::span<std::byte> part) {
    static_cast<void>(from);
    static_cast<void>(part);
  }
  // A whole frame; the bulk is where land() said. The spans of the message are gone when this
  // returns; the rest of it may be moved from.
  virtual void handle(Connection& from, Message& message, uint64_t bulk) = 0;
  // Everything that has arrived so far was handled: a good time to flush().
  virtual void arrived(Connection& from) { static_cast<void>(from); }
  // The connection ended by the other side, an error or close(); called once, and last.
  virtual void closed(Connection& from, const std::string& why) = 0;
};

// How long the bulk of a message keeps its place and content.
enum class Bulk {
  stays,    // until it is sent: the connection refers to it
  changes,  // what the kernel does not take at once is copied
  live,     // its place until it is sent, not its content: sent is what is there when the kernel
            // takes it, but never a word of 8 bytes (at an address divisible by 8) in two states
};

class Connection final : public std::enable_shared_from_this<Connection>, private StreamUser {
 public:
  // Takes a stream and starts reading. The handler outlives the connection. `accepted`, for who
  // accepts connections from anyone: greeting_limits hold until set_limits(), and nothing more is
  // read from a peer that does not read its answers. Long heads and copies of answers are taken
  // from `memory`, which outlives the connection: a head for which there is none ends it.
  static std::shared_ptr<Connection> start(std::unique_ptr<Stream> stream, Handler& handler,
                                           bool accepted, ByteBudget* memory = nullptr);
  ~Connection() override;

  // Queues one message; `X` is Body or one of its alternatives. Its bulk is the pieces one behind
  // the other. Small messages leave with the next flush() or when enough are gathered; large ones
  // at once, as far as the kernel takes them.
  template <class X>
  void send(uint64_t id, const X& body, std::span<const Bytes> pieces,
            Bulk lifetime = Bulk::stays) {
    if (open_) send_frame(writer_.write(id, body), pieces, lifetime);
  }
  template <class X>
  void send(uint64_t id, const X& body, Bytes bulk = {}, Bulk lifetime = Bulk::stays) {
    send(id, body, std::span<const Bytes>(&bulk, bulk.empty() ? 0 : 1), lifetime);
  }
  void flush();
  // Reads on where land() said hold(): it is asked again, soon, but not from within this call.
  void resume();
  // For all further messages.
  void set_limits(const Limits& limits);
  // Ends the connection; what was not sent is lost.
  void close(const std::string& why);

  bool open() const { return open_; }
  const std::string& peer() const { return stream_->peer(); }  // "127.0.0.1:40312"
  size_t queued() const { return queued_; }  // bytes that were not handed to the kernel yet
  size_t kept() const { return kept_; }      // bytes of copies among them (Bulk::changes)
  // Since the connection began. Messages count when they are complete, or queued.
  uint64_t bytes_in() const { return bytes_in_; }
  uint64_t bytes_out() const { return bytes_out_; }
  uint64_t messages_in() const { return messages_in_; }
  uint64_t messages_out() const { return messages_out_; }
  // Its handler holds it: that nothing comes in is not the peer's doing.
  bool held() const { return held_; }
  // It reads no further message until its peer has read answers.
  bool paused() const { return paused_; }
  Clock::time_point since() const { return since_; }            // of the connection
  Clock::time_point last_heard() const { return last_heard_; }  // bytes came in, or it reads on
  bool within_frame() const { return state_ != State::header || read_end_ > read_begin_; }

 private:
  enum class State { header, head, bulk };
  struct Piece {                         // of the queue, in order
    size_t begin = 0, size = 0;          // in gathered_, where `outside` is null
    const std::byte* outside = nullptr;  // large bulk, or `kept`
    std::vector<std::byte> kept;
    bool live = false;
  };

  Connection(std::unique_ptr<Stream> stream, Handler& handler, bool accepted, ByteBudget* memory);
  void on_ready(StreamEvent event, const std::error_code& error) override;
  void wait_for(StreamEvent event);
  void send_frame(Bytes head, std::span<const Bytes> pieces, Bulk lifetime);
  void keep_unsent(size_t pieces);
  void keep_word();
  std::byte* gather(size_t size);
  void await_read(StreamEvent until = StreamEvent::readable);
  bool has_enough() const;
  void await_write(StreamEvent until);
  void read_some();
  void parse(size_t in_bulk);
  bool parse_step();
  bool parse_head();
  void grow_head(size_t bytes);
  void shrink_head();
  void parse_bulk();
  void read_header_at(const std::byte* at);
  bool begin_bulk();
  void skip_full_pieces();
  std::span<std::byte> next_piece() const;
  void take_bulk(size_t bytes);
  void finish_frame();
  void write_some();
  void drop_sent(size_t bytes);
  void read_on();
  void fail(const std::string& why);

  const std::unique_ptr<Stream> stream_;
  Handler& handler_;
  MessageWriter writer_;
  const bool accepted_;  // from anyone: answers that it does not read are bounded
  Limits limits_;
  ByteClaim memory_;  // for the copies of answers, and for what head_room_ has above free_head
  bool open_ = true, paused_ = false;
  bool held_ = false, peer_closed_ = false;
  bool unparsed_ = false;  // whole messages may be in the buffer, as the peer has to read first
  std::optional<StreamEvent> reader_waits_, writer_waits_;  // for what
  std::array<bool, 3> pending_{};                           // waits, by event

  std::vector<uint64_t> read_room_;  // 8-byte aligned
  size_t read_begin_ = 0, read_end_ = 0;
  State state_ = State::header;
  FrameHeader header_;
  std::vector<uint64_t> head_room_;  // the head while its bulk comes in
  size_t head_have_ = 0;             // bytes of it that are there
  Message message_;                  // of that head
  Landing landing_;
  size_t piece_ = 0, piece_at_ = 0;  // of landing_: where the next bytes of the bulk go
  uint64_t bulk_left_ = 0;

  std::deque<Piece> pieces_;
  std::vector<std::byte> gathered_;  // heads and small bulk of pieces_
  size_t queued_ = 0, kept_ = 0;
  uint64_t bytes_in_ = 0, bytes_out_ = 0, messages_in_ = 0, messages_out_ = 0;
  Clock::time_point since_ = Clock::now(), last_heard_ = since_;
};

}  // namespace paddle::wire
