// A stream through memory that two processes of one machine have mapped: a ring of bytes for each
// direction. A copy in and a copy out are all that a byte costs. A socket beside it wakes whoever
// waits, and ends when the other process does.
//
// The other process has the same user, as its socket shows. Even so no number in the rings is
// trusted: a counter that makes no sense ends the stream.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "base/byte_budget.h"
#include "base/descriptor.h"
#include "wire/close_watch.h"
#include "wire/stream.h"

namespace paddle::wire {

// The memory of both rings, and its mapping here.
class SharedRings {
 public:
  struct Ring;
  enum class Side : uint8_t { connects, accepts };

  // New memory. Throws Error(io) where the system has none.
  SharedRings();
  // That of another process. Throws Error(protocol) where it is not what SharedRings() makes.
  explicit SharedRings(Descriptor memory);
  ~SharedRings();
  SharedRings(SharedRings&& other) noexcept;
  SharedRings& operator=(SharedRings&&) = delete;

  const Descriptor& descriptor() const { return memory_; }
  // The mapping stays.
  void close_descriptor() { memory_ = Descriptor(); }
  // Counts the memory, as long as this lives.
  void claim(ByteBudget& budget);
  Ring& ring(Side writer) const;

 private:
  void map();

  Descriptor memory_;
  std::byte* begin_ = nullptr;
  ByteClaim claim_;
};

class SharedStream final : public Stream {
 public:
  // `socket` is a connected one of this machine, of which it keeps a duplicate; `peer` is what log
  // lines call the other side.
  SharedStream(const asio::any_io_executor& io, const Descriptor& socket, SharedRings rings,
               SharedRings::Side side, std::string peer);

  Moved read_some(std::span<const iovec> parts) override;
  Moved write_some(std::span<const iovec> parts) override;
  void wait(StreamEvent event, std::shared_ptr<StreamUser> user) override;
  void close() override;
  const std::string& peer() const override { return peer_; }
  asio::any_io_executor executor() override { return socket_.get_executor(); }

 private:
  // Who waits for the socket: readers and writers together, as one of them takes the knocks of
  // both. It belongs to the wait that is pending.
  struct Waiting {
    std::array<std::shared_ptr<StreamUser>, 2> users;  // by StreamEvent
  };
  bool announce(StreamEvent event);
  void woken(Waiting& waiting, const std::error_code& error);
  void take_knocks();
  void knock();

  asio::posix::stream_descriptor socket_;
  CloseWatch close_watch_;
  SharedRings rings_;
  SharedRings::Ring &in_, &out_;
  uint64_t read_ = 0, written_ = 0;  // bytes so far: our own counters are not read from the rings
  bool ended_ = false;               // the socket has
  std::weak_ptr<Waiting> waiting_;
  const std::string peer_;
};

}  // namespace paddle::wire
