#include "wire/connection.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "support/connect.h"
#include "support/frames.h"
#include "wire/listener.h"

using namespace paddle;
using namespace paddle::wire;

namespace {

// Answers every Push by Values with the same bulk.
class Echo : public Handler {
 public:
  Landing land(Connection&, const Message& message, uint64_t bulk) override {
    const auto* push = std::get_if<Push>(&message.body);
    if (push == nullptr || push->parts[0].slice == 99) return Landing::discard();
    buffer.resize(bulk);
    return Landing::into(buffer);
  }
  void handle(Connection& c, Message& message, uint64_t bulk) override {
    ++messages;
    const auto* push = std::get_if<Push>(&message.body);
    require(push != nullptr, Error::Kind::protocol, "only Push is known here");
    const uint32_t slice = push->parts[0].slice;
    const ValuesPart part{push->step, slice, 0};
    c.send(message.id, Values{{&part, 1}}, Bytes(buffer).first(slice == 99 ? 0 : bulk),
           Bulk::changes);
  }
  void arrived(Connection& c) override { c.flush(); }
  void closed(Connection&, const std::string& why) override { reason = why; }

  std::vector<std::byte> buffer;
  size_t messages = 0;
  std::string reason;
};

class Client : public Handler {
 public:
  Landing land(Connection&, const Message&, uint64_t bulk) override {
    buffer.resize(bulk);
    return Landing::into(buffer);
  }
  void landed(Connection&, std::span<std::byte> part) override {
    in_order = in_order && part.data() == buffer.data() + shown && !part.empty();
    shown += part.size();
  }
  void handle(Connection&, Message& message, uint64_t bulk) override {
    in_order = in_order && shown == bulk;
    shown = 0;
    last_bulk = bulk;
    for (const ValuesPart& p : std::get<Values>(message.body).parts) versions.push_back(p.version);
  }
  void closed(Connection&, const std::string& why) override { reason = why; }

  std::vector<std::byte> buffer;
  std::vector<uint64_t> versions;
  uint64_t last_bulk = 0, shown = 0;
  bool in_order = true;  // landed() saw all of it, part after part
  std::string reason;
};

struct Pair {
  asio::io_context io{1};
  Echo echo;
  Client client;
  Listener listener{io, "127.0.0.1", 0};
  std::shared_ptr<Connection> server_side, client_side;

  Pair() {
    listener.accept([this](std::unique_ptr<Stream> s) {
      server_side = Connection::start(std::move(s), echo, true);
      server_side->set_limits(trainer_limits);
    });
    client_side = Connection::start(connect_to(io, {"127.0.0.1", listener.port()}), client, false);
    until([this] { return client_side && server_side; });
  }
  template <class Done>
  void until(const Done& done) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (!done() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(100));
    REQUIRE(done());
  }
  void push(uint32_t slice, uint64_t step, Bytes bulk) {
    const PushPart part{0, slice, 0};
    client_side->send(step, Push{.step = step, .parts = {&part, 1}}, bulk);
  }
};

std::vector<std::byte> pattern(size_t n) {
  std::vector<std::byte> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  return out;
}

}  // namespace

TEST_CASE("connection", "[wire]") {
  Pair p;
  SECTION("carries bulk of any size both ways") {
    uint64_t step = 0;
    for (const size_t n : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{4097},
                           size_t{65536}, size_t{300001}, size_t{9} << 20}) {
      const auto bytes = pattern(n);
      p.push(1, ++step, bytes);
      p.client_side->flush();
      p.until([&] { return p.client.versions.size() == step; });
      CHECK(p.client.versions.back() == step);
      CHECK(p.client.last_bulk == n);
      if (n > 0) CHECK(p.client.buffer == bytes);
      CHECK(p.client.in_order);
    }
  }
  SECTION("keeps the order of thousands of small messages in flight") {
    const auto bytes = pattern(64);
    for (uint64_t i = 0; i < 20000; ++i) p.push(1, i, bytes);
    p.client_side->flush();
    p.until([&] { return p.client.versions.size() == 20000; });
    std::vector<uint64_t> expected(20000);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(p.client.versions == expected);
    CHECK(p.client.in_order);
  }
  SECTION("lets bulk pass that nobody wants, and goes on behind it") {
    const auto bytes = pattern(1 << 20);
    p.push(99, 1, bytes);
    p.push(1, 2, Bytes(bytes).first(10));
    p.client_side->flush();
    p.until([&] { return p.client.versions.size() == 2; });
    CHECK(p.client.last_bulk == 10);
  }
  SECTION("ends with a reason on both sides") {
    p.client_side->close("done");
    p.until([&] { return !p.server_side->open(); });
    CHECK(p.client.reason == "done");
    CHECK(p.echo.reason == "the other side closed it");
  }
  SECTION("ends when the handler refuses, without touching the rest") {
    p.client_side->send(1, Ack{});
    p.client_side->flush();
    p.until([&] { return !p.client_side->open(); });
    CHECK(p.echo.reason == "only Push is known here");
  }
}

TEST_CASE("a port gets anything at all", "[wire]") {
  asio::io_context io{1};
  Echo echo;
  std::shared_ptr<Connection> connection;
  Listener listener(io, "127.0.0.1", 0);
  listener.accept(
      [&](std::unique_ptr<Stream> s) { connection = Connection::start(std::move(s), echo, true); });
  const auto send_raw = [&](const std::string& bytes) {
    connection.reset();
    echo.reason.clear();
    tcp::socket raw(io);
    raw.connect({asio::ip::address_v4::loopback(), listener.port()});
    raw.write_some(asio::buffer(bytes));
    raw.shutdown(tcp::socket::shutdown_send);
    const auto end = Clock::now() + std::chrono::seconds(10);
    while (echo.reason.empty() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(50));
    return echo.reason;
  };
  CHECK(send_raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n").find("HTTP") != std::string::npos);
  CHECK(send_raw(std::string("\x16\x03\x01\x02") + "and so on, as TLS begins").find("TLS") !=
        std::string::npos);
  CHECK(send_raw("").find("closed") != std::string::npos);
  CHECK(send_raw("PSW1").find("within a message") != std::string::npos);
  for (const uint32_t head : {0u, 1u << 31, 0x10008u}) {
    std::string bytes(16, '\0');
    write_header(reinterpret_cast<std::byte*>(bytes.data()), {head, uint64_t{1} << 63});
    CHECK(send_raw(bytes).find("head") != std::string::npos);
  }
  CHECK(echo.messages == 0);
}

TEST_CASE("endpoints", "[wire]") {
  CHECK(parse_endpoint("a.b:7164", "pserver") == Endpoint{"a.b", 7164});
  CHECK(parse_endpoint("[::1]:80", "pserver") == Endpoint{"::1", 80});
  for (const char* bad : {"", "host", ":1", "h:", "h:0", "h:65536", "h:x", "h:123456", "::1:80",
                          "[::1]", "[::1:80", "[::1]80"})
    CHECK_THROWS_AS(parse_endpoint(bad, "pserver"), Error);
  CHECK_THROWS_WITH(parse_endpoint("host", "the pserver"),
                    "the pserver 'host' has no port: write host:port");
  CHECK_THROWS_WITH(parse_endpoint("h:0", "the pserver"),
                    "the pserver 'h:0' has no port from 1 to 65535 after its last colon");
}

TEST_CASE("connecting to nobody is an error with the address", "[wire]") {
  asio::io_context io{1};
  uint16_t free_port = 0;
  {
    Listener listener(io, "127.0.0.1", 0);
    free_port = listener.port();
  }
  std::string said;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const Endpoint to{"127.0.0.1", free_port};
        try {
          static_cast<void>(co_await connect(to, 5));
        } catch (const Error& e) {
          said = e.what();
        }
      },
      asio::detached);
  io.run();
  CHECK(said.find(std::to_string(free_port)) != std::string::npos);
  CHECK(said.find("refused") != std::string::npos);
}

// Otherwise answers would pile up in memory until a deadline ends the connection.
TEST_CASE("a peer that does not read its answers is not read from", "[wire]") {
  Pair p;
  p.server_side.reset();
  tcp::socket deaf(p.io);
  deaf.connect({asio::ip::address_v4::loopback(), p.listener.port()});
  p.until([&] { return p.server_side != nullptr; });

  const PushPart part{0, 1, 0};
  const std::string frame = frame_of(1, Push{.parts = {&part, 1}}, std::string(4096, '\0'));

  deaf.non_blocking(true);
  boost::system::error_code full;
  size_t sent = 0;
  const auto ends = Clock::now() + std::chrono::seconds(20);
  const auto ask = [&] {  // until neither side moves
    while (Clock::now() < ends) {
      const size_t at = sent % frame.size();
      full.clear();
      sent += deaf.write_some(asio::buffer(frame.data() + at, frame.size() - at), full);
      if (full && p.io.run_one_for(std::chrono::milliseconds(50)) == 0) return;
      p.io.poll();
    }
  };
  ask();
  REQUIRE(full == asio::error::would_block);
  CHECK(p.server_side->open());
  CHECK(p.server_side->queued() > 0);
  CHECK(p.server_side->queued() < 8u << 20);
  CHECK(sent < 64u << 20);

  // It reads again, and is heard again.
  const size_t before = p.echo.messages;
  std::vector<std::byte> buffer(1 << 16);
  p.until([&] {
    boost::system::error_code nothing;
    deaf.read_some(asio::buffer(buffer), nothing);
    return p.echo.messages > before;
  });
}
