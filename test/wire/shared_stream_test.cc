#include "wire/shared_stream.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "support/temporary.h"
#include "wire/connection.h"
#include "wire/listener.h"
#include "wire/shared_connect.h"

using namespace paddle;
using namespace paddle::wire;

namespace shared_stream_test {

std::pair<Descriptor, Descriptor> sockets() {
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor duplicate(const Descriptor& d) { return Descriptor(::dup(d.get())); }

// Sends so many messages of sizes that its stream of random numbers names, as fast as they leave,
// and checks that the other side's come as its stream says.
class Talker : public Handler {
 public:
  Talker(uint64_t own, uint64_t other, size_t messages)
      : own_(1, own), other_(1, other), messages_(messages), bytes_(most, std::byte(own)) {}

  void run(asio::io_context& io, std::unique_ptr<Stream> stream, bool accepted) {
    const auto c = Connection::start(std::move(stream), *this, accepted);
    c->set_limits(trainer_limits);
    for (size_t i = 0; i < messages_; ++i) {
      const ValuesPart part{i, 0, 0};
      c->send(0, Values{{&part, 1}}, Bytes(bytes_).first(size_of(own_, i)), Bulk::stays);
      if (i % 3 == 0) c->flush();
      io.poll();
    }
    c->flush();
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while ((seen < messages_ || c->queued() > 0) && Clock::now() < deadline && reason.empty())
      io.run_one_for(std::chrono::milliseconds(100));
    all_sent = c->queued() == 0;
    // The last bytes may still be unread: the other side ends first or last, both are right.
  }

  Landing land(Connection&, const Message&, uint64_t bulk) override {
    in_.resize(bulk);
    return Landing::into(in_);
  }
  void handle(Connection&, Message&, uint64_t bulk) override {
    right = right && bulk == size_of(other_, seen) &&
            std::all_of(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(bulk),
                        [&](std::byte b) { return b == in_[0] && b != bytes_[0]; });
    ++seen;
  }
  void arrived(Connection& c) override { c.flush(); }
  void closed(Connection&, const std::string& why) override { reason = why; }

  size_t seen = 0;
  bool right = true, all_sent = false;
  std::string reason;

 private:
  static constexpr size_t most = 1500000;  // several rings
  static size_t size_of(const RandomStream& r, size_t i) {
    const uint64_t n = r.bits(i);
    return 1 + (n % 4 == 0 ? n / 4 % most : n / 4 % 20000);
  }
  const RandomStream own_, other_;
  const size_t messages_;
  std::vector<std::byte> bytes_, in_;
};

}  // namespace shared_stream_test

using namespace shared_stream_test;

// Both sides write more than a ring holds, and stop and go on all the time: a wake-up that is lost
// ends in the deadline.
TEST_CASE("messages of any size cross shared memory both ways at once") {
  auto [here, there] = sockets();
  SharedRings rings;
  SharedRings same(duplicate(rings.descriptor()));
  constexpr size_t messages = 400;
  Talker a(1, 2, messages), b(2, 1, messages);
  asio::io_context io_a{1}, io_b{1};
  const auto keep_a = asio::make_work_guard(io_a), keep_b = asio::make_work_guard(io_b);
  std::thread other([&] {
    b.run(io_b,
          std::make_unique<SharedStream>(io_b.get_executor(), there, std::move(same),
                                         SharedRings::Side::accepts, "a"),
          true);
  });
  a.run(io_a,
        std::make_unique<SharedStream>(io_a.get_executor(), here, std::move(rings),
                                       SharedRings::Side::connects, "b"),
        false);
  other.join();
  CHECK(a.seen == messages);
  CHECK(b.seen == messages);
  CHECK(a.right);
  CHECK(b.right);
  CHECK(a.all_sent);
  CHECK(b.all_sent);
}

TEST_CASE("what was sent before the end is read, then the end") {
  asio::io_context io{1};
  auto [here, there] = sockets();
  SharedRings rings;
  SharedRings same(duplicate(rings.descriptor()));
  SharedStream reader(io.get_executor(), here, std::move(rings), SharedRings::Side::connects, "b");
  char bytes[8] = "";
  const iovec all{bytes, sizeof bytes};
  {
    SharedStream writer(io.get_executor(), there, std::move(same), SharedRings::Side::accepts, "a");
    char word[] = "end";
    const iovec part{word, 3};
    CHECK(writer.write_some({&part, 1}).bytes == 3);
    writer.close();
    there.close();
  }
  struct User : StreamUser {
    void on_ready(StreamEvent, const std::error_code& error) override { called = !error; }
    bool called = false;
  };
  CHECK(reader.read_some({&all, 1}).bytes == 3);
  CHECK(std::string(bytes) == "end");
  CHECK(reader.read_some({&all, 1}).kind == Stream::Moved::Kind::again);
  const auto user = std::make_shared<User>();
  reader.wait(StreamEvent::readable, user);
  io.run_for(std::chrono::seconds(5));
  CHECK(user->called);
  CHECK(reader.read_some({&all, 1}).kind == Stream::Moved::Kind::ended);
  CHECK(reader.write_some({&all, 1}).kind == Stream::Moved::Kind::failed);
}

TEST_CASE("memory that is not that of a connection is refused") {
  const auto refused = [](Descriptor memory) {
    CHECK_THROWS_WITH(SharedRings(std::move(memory)), Catch::Contains("not that of a connection"));
  };
  const SharedRings good;
  const off_t size = ::lseek(good.descriptor().get(), 0, SEEK_END);
  Descriptor small(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(small.get(), 100) == 0);
  refused(std::move(small));
  Descriptor unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), size) == 0);
  refused(std::move(unsealed));
  auto [socket, other] = sockets();
  refused(std::move(socket));
  // Of the right size and with the right content, but a file: who shares it may shorten it.
  const TemporaryDirectory directory;
  Descriptor file(::open((directory.path() + "/rings").c_str(), O_RDWR | O_CREAT, 0600));
  std::vector<std::byte> content(static_cast<size_t>(size));
  REQUIRE(::pread(good.descriptor().get(), content.data(), content.size(), 0) == size);
  REQUIRE(::pwrite(file.get(), content.data(), content.size(), 0) == size);
  refused(std::move(file));
  // The right size and sealed, but never written.
  Descriptor empty(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(empty.get(), size) == 0);
  REQUIRE(::fcntl(empty.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  CHECK_THROWS_WITH(SharedRings(std::move(empty)), Catch::Contains("another version"));
}

TEST_CASE("a counter that makes no sense ends the stream") {
  asio::io_context io{1};
  auto [here, there] = sockets();
  SharedRings rings;
  const off_t size = ::lseek(rings.descriptor().get(), 0, SEEK_END);
  auto* counters =
      static_cast<uint64_t*>(::mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                                    MAP_SHARED, rings.descriptor().get(), 0));
  REQUIRE(counters != MAP_FAILED);
  SharedStream stream(io.get_executor(), here, std::move(rings), SharedRings::Side::accepts, "b");
  counters[0] = uint64_t{1} << 40;  // bytes that the side that connects has written
  char bytes[8];
  const iovec all{bytes, sizeof bytes};
  const Stream::Moved m = stream.read_some({&all, 1});
  CHECK(m.kind == Stream::Moved::Kind::failed);
  CHECK(m.error.value() == EPROTO);
  ::munmap(counters, static_cast<size_t>(size));
}

TEST_CASE("processes find each other by the address of the port") {
  asio::io_context io{1};
  Listener port(io, "127.0.0.1", 0);
  const Endpoint at{"127.0.0.1", port.port()};
  CHECK(connect_shared(io.get_executor(), at) == nullptr);  // TCP alone
  const std::string address = at.text();
  ByteBudget memory(100);
  SharedListener listener(io.get_executor(), address, &memory);
  std::unique_ptr<Stream> accepted;
  listener.accept([&](std::unique_ptr<Stream> s) { accepted = std::move(s); });
  CHECK(connect_shared(io.get_executor(), {"10.1.2.3", port.port()}) == nullptr);
  CHECK(connect_shared(io.get_executor(), {"127.0.0.2", port.port()}) == nullptr);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    accepted = nullptr;
    const auto stream = connect_shared(io.get_executor(), {host, port.port()});
    REQUIRE(stream);
    for (int i = 0; i < 100 && !accepted; ++i) io.run_one_for(std::chrono::milliseconds(100));
    REQUIRE(accepted);
    CHECK(accepted->peer() == text("process:", ::getpid()));
    char word[] = "hello";
    const iovec part{word, 5};
    CHECK(stream->write_some({&part, 1}).bytes == 5);
    char got[8] = "";
    const iovec all{got, sizeof got};
    CHECK(accepted->read_some({&all, 1}).bytes == 5);
    CHECK(std::string(got) == "hello");
    CHECK(memory.held() >= 2u << 20);  // counted, and not refused
    CHECK(memory.held() < 3u << 20);
    accepted = nullptr;
    CHECK(memory.held() == 0);
  }
  // The name is taken: the second one listens at its port alone.
  SharedListener second(io.get_executor(), address);
  second.accept([](std::unique_ptr<Stream>) { FAIL("it has no name"); });
  listener.stop();
  CHECK(connect_shared(io.get_executor(), at) == nullptr);
}

// A socket that is connected to the listener of `address`, and says nothing.
Descriptor connected(const std::string& address) {
  const std::string name = '\0' + ("paddle-pserver " + address);
  sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(at.sun_path, name.data(), name.size());
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  REQUIRE(::connect(out.get(), reinterpret_cast<const sockaddr*>(&at), bytes) == 0);
  return out;
}

bool is_cut(asio::io_context& io, const Descriptor& socket) {
  char byte;
  for (int i = 0; i < 100; ++i) {
    io.run_one_for(std::chrono::milliseconds(100));
    if (::recv(socket.get(), &byte, 1, 0) == 0) return true;
  }
  return false;
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST_CASE("who shares no memory in time is disconnected") {
  asio::io_context io{1};
  const std::string address = text("127.0.0.1:0 of ", ::getpid());
  SharedListener listener(io.get_executor(), address, nullptr, std::chrono::milliseconds(50));
  listener.accept([](std::unique_ptr<Stream>) { FAIL("it has shared nothing"); });
  CHECK(is_cut(io, connected(address)));
  listener.stop();
}

TEST_CASE("descriptors that nobody asked for are not kept") {
  asio::io_context io{1};
  const std::string address = text("127.0.0.1:0 of ", ::getpid());
  SharedListener listener(io.get_executor(), address);
  listener.accept([](std::unique_ptr<Stream>) { FAIL("it has shared no memory"); });
  const Descriptor socket = connected(address);
  const size_t before = open_descriptors();
  const int extra[2] = {socket.get(), socket.get()};
  char sign = 'M';
  iovec part{&sign, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof extra)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof extra);
  std::memcpy(CMSG_DATA(c), extra, sizeof extra);
  REQUIRE(::sendmsg(socket.get(), &message, MSG_NOSIGNAL) == 1);
  CHECK(is_cut(io, socket));
  CHECK(open_descriptors() == before);
  listener.stop();
}

TEST_CASE("a process that runs out of descriptors goes on listening") {
  asio::io_context io{1};
  Listener port(io, "127.0.0.1", 0);
  const Endpoint at{"127.0.0.1", port.port()};
  SharedListener listener(io.get_executor(), at.text());
  std::vector<std::unique_ptr<Stream>> accepted;
  listener.accept([&](std::unique_ptr<Stream> s) { accepted.push_back(std::move(s)); });
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  // With every number of descriptors left that could end in the middle of taking a connection.
  for (size_t left = 0; left < 4; ++left) {
    INFO(left << " descriptors left");
    const auto stream = connect_shared(io.get_executor(), at);
    REQUIRE(stream);
    rlimit few = before;
    few.rlim_cur = 256;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::vector<Descriptor> taken;
    for (Descriptor d; (d = Descriptor(::dup(0)));) taken.push_back(std::move(d));
    taken.resize(taken.size() - left);
    CHECK_NOTHROW(io.run_for(std::chrono::milliseconds(20)));
    taken.clear();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_NOTHROW(io.run_for(std::chrono::milliseconds(20)));
  }
  accepted.clear();
  const auto stream = connect_shared(io.get_executor(), at);
  REQUIRE(stream);
  for (int i = 0; i < 100 && accepted.empty(); ++i) io.run_one_for(std::chrono::milliseconds(100));
  CHECK(accepted.size() == 1);
  listener.stop();
}
