// Who is let in, who is refused with which sentence, and what strangers can do to a shard.
#include <dirent.h>

#include <catch2/catch.hpp>

#include "base/file.h"
#include "base/log.h"
#include "pserver/client.h"
#include "support/frames.h"
#include "support/quiet_log.h"
#include "wire/frame.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;
using Body = AnswerType;

namespace {

std::string refused(uint16_t port, const HelloOptions& hello, Code code = Code::refused) {
  Client c(port);
  const Answer a = c.greet(hello);
  CHECK(a.failed(code));
  CHECK(c.ended());
  return a.text;
}

size_t entries(const char* path) { return list_directory(path).size(); }

// Sends bytes as they are and waits until the shard ends the connection.
bool ends_after(uint16_t port, std::string_view bytes, double seconds = 5) {
  asio::io_context io;
  tcp::socket s(io);
  s.connect({asio::ip::make_address("127.0.0.1"), port});
  boost::system::error_code error;
  s.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  bool ended = false;
  char room[4096];
  std::function<void()> read = [&] {
    s.async_read_some(asio::buffer(room), [&](const boost::system::error_code& e, size_t) {
      if (e)
        ended = true;
      else
        read();
    });
  };
  read();
  const auto end = wire::Clock::now() + std::chrono::duration<double>(seconds);
  while (!ended && wire::Clock::now() < end) io.run_one_for(std::chrono::milliseconds(20));
  return ended;
}

// A whole greeting as it stands on the wire.
std::string hello_frame(wire::Role role = wire::Role::trainer) {
  wire::Hello hello = wire::make_hello(role);
  hello.job = hello.program = "x";
  hello.incarnation = 7;
  return frame_of(1, hello);
}

}  // namespace

TEST_CASE("trainers that do not fit are refused with both values", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard;
  Client first(shard.port());
  REQUIRE(first.greet({.trainer = 0}).type == Body::Welcome);
  const uint16_t port = shard.port();
  HelloOptions h{.trainer = 1};

  SECTION("protocol") {
    h.protocol = 9;
    CHECK_THAT(refused(port, h),
               Contains(text("uses version ", wire::protocol_version, " (PaddlePaddle")) &&
                   Contains("host:1001 uses 9 (test)"));
  }
  SECTION("job") {
    h.job = "other";
    CHECK_THAT(refused(port, h), Contains("this pserver has 'job' (from host:1000), the trainer "
                                          "has 'other'"));
  }
  SECTION("number of trainers") {
    h.trainers = 3;
    CHECK_THAT(refused(port, h),
               Contains("this pserver has 2 (from host:1000), the trainer has 3"));
  }
  SECTION("mode") {
    h.mode = wire::Mode::geo;
    CHECK_THAT(refused(port, h), Contains("has sync (from host:1000), the trainer has geo"));
  }
  SECTION("program") {
    h.program = "def";
    CHECK_THAT(refused(port, h),
               Contains("digest abc (from host:1000), the trainer has digest def"));
  }
  SECTION("order of the pservers") {
    h.shard = 1;
    h.shards = 2;
    CHECK_THAT(refused(port, h), Contains("0 of 1 (from host:1000), the trainer has 1 of 2"));
  }
  SECTION("id out of range") {
    h.trainer = 2;
    CHECK_THAT(refused(port, h), Contains("trainer_id 2 is not one of the 2"));
  }
  SECTION("id taken: whoever has it may be gone, so it is not final yet") {
    h.trainer = 0;
    h.incarnation = 77;
    CHECK_THAT(refused(port, h, Code::wait), Contains("trainer 0 is host:1000, silent for"));
  }
  CHECK(first.status().type == Body::Status);  // nobody else was disturbed
}

TEST_CASE("options of a pserver bind trainers too", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard({.job = "mine", .trainers = 4});
  CHECK_THAT(refused(shard.port(), {.trainers = 4}), Contains("'mine', the trainer has 'job'"));
  CHECK_THAT(refused(shard.port(), {.job = "mine"}), Contains("has 4, the trainer has 2"));
  Client ok(shard.port());
  CHECK(ok.greet({.trainers = 4, .job = "mine"}).type == Body::Welcome);
}

TEST_CASE("ids are given to those who ask", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard;
  Client a(shard.port()), b(shard.port());
  CHECK(a.greet({.incarnation = 5, .takes_id = true}).trainer == 0);
  CHECK(b.greet({.incarnation = 6, .takes_id = true}).trainer == 1);
  CHECK_THAT(refused(shard.port(), {.incarnation = 7, .takes_id = true}),
             Contains("all 2 trainer ids are taken"));
}

TEST_CASE("an identity binds nobody after its trainers have left", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard;
  {
    Client a(shard.port());
    CHECK(a.greet({.job = "old"}).type == Body::Welcome);
  }
  Answer w;
  for (int i = 0; i < 100 && w.type != Body::Welcome; ++i) {
    Client b(shard.port());
    w = b.greet({.job = "new"});
  }
  CHECK(w.type == Body::Welcome);
}

TEST_CASE("strangers are shown the door", "[pserver]") {
  QuietLog quiet(1);
  RunningShard shard;
  const uint16_t port = shard.port();
  std::string words;  // that the log must hold afterwards
  SECTION("HTTP") {
    CHECK(ends_after(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    words = "it looks like HTTP";
  }
  SECTION("TLS") {
    CHECK(ends_after(port, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) +
                               std::string(200, 'x')));
    words = "it looks like TLS";
  }
  SECTION("noise") { CHECK(ends_after(port, std::string(4096, '\xa5'))); }
  SECTION("lengths that nobody has") {
    for (const uint32_t head : {0u, 4u, 1u << 31, 0xfffffff8u, wire::greeting_limits.head + 8})
      CHECK(ends_after(port, frame_header(head, 0) + std::string(64, '\0')));
    for (const uint64_t bulk : {uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX}) {
      std::string frame = hello_frame();
      std::memcpy(frame.data() + 8, &bulk, sizeof bulk);
      CHECK(ends_after(port, frame));
    }
  }
  SECTION("bulk of the largest size after a greeting") {
    const wire::PushPart part{};
    std::string push = frame_of(2, wire::Push{.step = 1, .parts = {&part, 1}});
    const uint64_t bulk = uint64_t{1} << 63;
    std::memcpy(push.data() + 8, &bulk, sizeof bulk);
    CHECK(ends_after(port, hello_frame() + push));
  }
  SECTION("messages before the greeting") {
    Client c(port);
    c.pull(1, 0);
    CHECK(c.ended());
    words = "a message of type Pull before the greeting";
  }
  SECTION("observers that want more than to look") {
    Client c(port);
    CHECK(c.greet({.role = wire::Role::observer}).type == Body::Welcome);
    CHECK(c.status().type == Body::Status);
    c.pull(1, 0);
    CHECK(c.ended());
  }
  Client still(port);  // whatever was said before this has been logged
  CHECK(still.greet({}).type == Body::Welcome);
  CHECK_THAT(quiet.pipe.read(), Contains(words));
}

TEST_CASE("damaged greetings do no harm", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard;
  const std::string frame = hello_frame();
  // A head that is cut short is one of another length: the header tells of what is there.
  for (size_t n = 8; n + wire::header_bytes < frame.size(); n += 8)
    CHECK(ends_after(shard.port(), frame_header(static_cast<uint32_t>(n), 0) +
                                       frame.substr(wire::header_bytes, n)));
  for (size_t at = wire::header_bytes; at + 4 <= frame.size(); at += 4)
    for (const uint32_t word : {0u, 0xffffffffu, 0x7fffffffu}) {
      std::string bad = frame;
      std::memcpy(bad.data() + at, &word, sizeof word);
      asio::io_context io;
      tcp::socket s(io);
      s.connect({asio::ip::make_address("127.0.0.1"), shard.port()});
      boost::system::error_code error;
      s.write_some(asio::buffer(bad), error);
    }
  Client still(shard.port());
  CHECK(still.greet({.role = wire::Role::observer}).type == Body::Welcome);
}

TEST_CASE("a thousand connections leave nothing behind", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard;
  const auto settle = [&] {  // the shard has seen the end of every connection before this one
    Client c(shard.port());
    return c.greet({.role = wire::Role::observer}).type == Body::Welcome;
  };
  REQUIRE(settle());
  const size_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  const std::string frame = hello_frame(wire::Role::observer);
  for (int i = 0; i < 1000; ++i) {
    asio::io_context io;
    tcp::socket s(io);
    s.connect({asio::ip::make_address("127.0.0.1"), shard.port()});
    boost::system::error_code error;
    if (i % 3 > 0) s.write_some(asio::buffer(frame.data(), i % 3 == 1 ? frame.size() : 20), error);
    if (i % 2 == 0) s.set_option(asio::socket_base::linger(true, 0));
  }
  size_t left = 0;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(settle());
    left = entries("/proc/self/fd");
    if (left <= files + 1) break;
  }
  CHECK(left <= files + 1);
  CHECK(entries("/proc/self/task") == threads);
}
