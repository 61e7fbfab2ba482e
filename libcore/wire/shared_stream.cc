#include "wire/shared_stream.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace paddle::wire {
namespace {

constexpr size_t ring_size = size_t{1} << 20;  // of each direction: a power of 2
constexpr size_t show_every = 64u << 10;       // the other side goes on with what is copied so far
constexpr uint64_t layout = 0x3153474e49525350;  // "PSRINGS1"
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

// Counters of bytes, each on a cache line of its own, with who has to be woken.
struct SharedRings::Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::atomic<uint32_t> reader_waits;
  std::atomic<uint32_t> writer_waits;
  std::atomic<uint64_t> layout;
  alignas(64) std::byte bytes[ring_size];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

namespace {

using Ring = SharedRings::Ring;
constexpr size_t memory_bytes = 2 * sizeof(Ring);

// Calls copy(place in the ring, bytes) for the one or two runs that `bytes` bytes from `at` are.
template <class Copy>
void each_run(Ring& ring, uint64_t at, size_t bytes, const Copy& copy) {
  const size_t begin = at % ring_size, first = std::min(bytes, ring_size - begin);
  copy(ring.bytes + begin, first);
  if (first < bytes) copy(ring.bytes, bytes - first);
}

// Whoever is about to wait has said so before it looked a last time, and we look behind our change.
bool has_to_wake(std::atomic<uint32_t>& waits) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return waits.load(std::memory_order_relaxed) != 0 && waits.exchange(0) != 0;
}

// A writer that waits is woken once for half a ring.
bool worth_waking(uint64_t unread) { return unread <= ring_size / 2; }

// For asio, which closes what it is given.
int duplicate(const Descriptor& socket) {
  const int copy = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw io_error("keep", "a socket", errno);
  return copy;
}

Stream::Moved failure(int code) {
  return {.kind = Stream::Moved::Kind::failed, .error = {code, std::generic_category()}};
}

// A limit for files holds for memory as well, and to pass it would end the process.
bool may_have(size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

}  // namespace

// ---- the memory

SharedRings::SharedRings() : memory_(::memfd_create("paddle", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  require(may_have(memory_bytes), Error::Kind::io, "files may not be as large as shared memory");
  if (!memory_ || ::ftruncate(memory_.get(), memory_bytes) != 0 ||
      ::fcntl(memory_.get(), F_ADD_SEALS, seals) != 0)
    throw io_error("make", "shared memory", errno);
  map();
  for (const Side side : {Side::connects, Side::accepts}) ring(side).layout = layout;
}

SharedRings::SharedRings(Descriptor memory) : memory_(std::move(memory)) {
  struct stat file {};
  // Sealed: nobody can take it away under us. What cannot be sealed answers -1.
  const int sealed = ::fcntl(memory_.get(), F_GET_SEALS);
  const bool fits = ::fstat(memory_.get(), &file) == 0 &&
                    file.st_size == static_cast<off_t>(memory_bytes) && sealed >= 0 &&
                    (sealed & seals) == seals;
  require(fits, Error::Kind::protocol, "the memory that it shares is not that of a connection");
  map();
  for (const Side side : {Side::connects, Side::accepts})
    require(ring(side).layout == layout, Error::Kind::protocol,
            "the memory that it shares is of another version of this program");
}

void SharedRings::map() {
  void* at = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (at == MAP_FAILED) throw io_error("map", "shared memory", errno);
  begin_ = static_cast<std::byte*>(at);
}

SharedRings::SharedRings(SharedRings&& other) noexcept
    : memory_(std::move(other.memory_)),
      begin_(std::exchange(other.begin_, nullptr)),
      claim_(std::move(other.claim_)) {}

// Whatever the limit: a connection that was refused would be tried again.
void SharedRings::claim(ByteBudget& budget) {
  claim_ = ByteClaim(&budget);
  claim_.add_anyway(memory_bytes);
}

SharedRings::~SharedRings() {
  if (begin_ != nullptr) ::munmap(begin_, memory_bytes);
}

SharedRings::Ring& SharedRings::ring(Side writer) const {
  return *reinterpret_cast<Ring*>(begin_ + (writer == Side::connects ? 0 : sizeof(Ring)));
}

// ---- the stream

SharedStream::SharedStream(const asio::any_io_executor& io, const Descriptor& socket,
                           SharedRings rings, SharedRings::Side side, std::string peer)
    : socket_(io, duplicate(socket)),
      rings_(std::move(rings)),
      in_(rings_.ring(side == SharedRings::Side::connects ? SharedRings::Side::accepts
                                                          : SharedRings::Side::connects)),
      out_(rings_.ring(side)),
      peer_(std::move(peer)) {
  rings_.close_descriptor();
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
}

Stream::Moved SharedStream::read_some(std::span<const iovec> parts) {
  const uint64_t there = in_.written.load(std::memory_order_acquire) - read_;
  if (there > ring_size) return failure(EPROTO);
  if (there == 0)
    return ended_ ? Moved{.kind = Moved::Kind::ended}
                  : Moved{.kind = Moved::Kind::again, .until = StreamEvent::readable};
  size_t left = static_cast<size_t>(there), moved = 0;
  for (const iovec& p : parts) {
    auto* to = static_cast<std::byte*>(p.iov_base);
    for (size_t in_part = std::min(p.iov_len, left); in_part > 0;) {
      const size_t run = std::min(in_part, show_every);
      each_run(in_, read_, run, [&](const std::byte* from, size_t bytes) {
        std::memcpy(to, from, bytes);
        to += bytes;
      });
      read_ += run;
      moved += run;
      left -= run;
      in_part -= run;
      in_.read.store(read_, std::memory_order_release);
    }
  }
  if (worth_waking(left) && has_to_wake(in_.writer_waits)) knock();
  return {.kind = Moved::Kind::some, .bytes = moved};
}

Stream::Moved SharedStream::write_some(std::span<const iovec> parts) {
  if (ended_) return failure(EPIPE);
  const uint64_t there = written_ - out_.read.load(std::memory_order_acquire);
  if (there > ring_size) return failure(EPROTO);
  size_t left = ring_size - static_cast<size_t>(there), moved = 0;
  if (left == 0) return {.kind = Moved::Kind::again, .until = StreamEvent::writable};
  for (const iovec& p : parts) {
    const auto* from = static_cast<const std::byte*>(p.iov_base);
    for (size_t in_part = std::min(p.iov_len, left); in_part > 0;) {
      const size_t run = std::min(in_part, show_every);
      each_run(out_, written_, run, [&](std::byte* to, size_t bytes) {
        std::memcpy(to, from, bytes);
        from += bytes;
      });
      written_ += run;
      moved += run;
      left -= run;
      in_part -= run;
      out_.written.store(written_, std::memory_order_release);
    }
  }
  if (has_to_wake(out_.reader_waits)) knock();
  return {.kind = Moved::Kind::some, .bytes = moved};
}

// Says that somebody here is going to wait; false where there is no need to.
bool SharedStream::announce(StreamEvent event) {
  const bool reads = event == StreamEvent::readable;
  (reads ? in_.reader_waits : out_.writer_waits).store(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool ready =
      reads ? in_.written.load() != read_ : worth_waking(written_ - out_.read.load());
  return !ready && !ended_;
}

void SharedStream::wait(StreamEvent event, std::shared_ptr<StreamUser> user) {
  if (event == StreamEvent::closed)
    return close_watch_.wait(executor(), socket_.native_handle(), std::move(user));
  if (!announce(event))
    return asio::post(socket_.get_executor(),
                      [event, user = std::move(user)] { user->on_ready(event, {}); });
  const auto pending = waiting_.lock();
  const auto waiting = pending ? pending : std::make_shared<Waiting>();
  waiting->users[static_cast<size_t>(event)] = std::move(user);
  if (pending) return;
  waiting_ = waiting;
  socket_.async_wait(
      asio::posix::stream_descriptor::wait_read,
      [this, waiting](const boost::system::error_code& error) { woken(*waiting, error); });
}

// The users keep this stream.
void SharedStream::woken(Waiting& waiting, const std::error_code& error) {
  const auto users = std::move(waiting.users);
  waiting_.reset();
  if (!error) take_knocks();
  for (const StreamEvent event : {StreamEvent::readable, StreamEvent::writable}) {
    const std::shared_ptr<StreamUser>& user = users[static_cast<size_t>(event)];
    if (!user) continue;
    if (error)
      user->on_ready(event, error);
    else if (announce(event))
      wait(event, user);  // the knock was not for it
    else
      user->on_ready(event, {});
  }
}

void SharedStream::take_knocks() {
  std::array<std::byte, 64> knocks;
  ssize_t got = 0;
  do {
    got = ::recv(socket_.native_handle(), knocks.data(), knocks.size(), 0);
  } while (got == static_cast<ssize_t>(knocks.size()) || (got < 0 && errno == EINTR));
  ended_ = ended_ || got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

// A socket that is full holds enough to wake the other side; one that is gone is seen by who reads.
void SharedStream::knock() {
  const std::byte one{1};
  while (::send(socket_.native_handle(), &one, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void SharedStream::close() {
  boost::system::error_code ignored;
  close_watch_.close();
  ::shutdown(socket_.native_handle(), SHUT_RDWR);
  socket_.close(ignored);
}

}  // namespace paddle::wire
