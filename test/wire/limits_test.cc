// What a peer may take of our memory by what it sends.
#include <catch2/catch.hpp>

#include "support/connect.h"
#include "wire/connection.h"
#include "wire/listener.h"

using namespace paddle;
using namespace paddle::wire;

namespace limits_test {

struct Keeper : Handler {
  Landing land(Connection&, const Message&, uint64_t) override { return Landing::discard(); }
  void handle(Connection& from, Message&, uint64_t) override {
    ++handled;
    from.set_limits(limits);
  }
  void closed(Connection&, const std::string& why) override { reason = why; }
  Limits limits = trainer_limits;
  int handled = 0;
  std::string reason;
};

std::string header(uint32_t head) {
  std::string out(16, '\0');
  write_header(reinterpret_cast<std::byte*>(out.data()), {head, 0});
  return out;
}

std::string frame(const Body& body) {
  MessageWriter writer;
  const Bytes head = writer.write(1, body);
  const auto size = static_cast<uint32_t>((head.size() + 7) / 8 * 8);
  std::string out = header(size);
  out.append(reinterpret_cast<const char*>(head.data()), head.size());
  out.resize(16 + size);
  return out;
}

// Peers that send bytes as they like.
struct Port {
  asio::io_context io{1};
  ByteBudget memory{8u << 20};
  Keeper keeper;
  std::vector<std::shared_ptr<Connection>> connections;
  std::vector<tcp::socket> peers;
  Listener listener{io, "127.0.0.1", 0};

  Port() {
    listener.accept([this](std::unique_ptr<Stream> s) {
      connections.push_back(Connection::start(std::move(s), keeper, true, &memory));
    });
  }
  ~Port() {
    listener.stop();
    for (const auto& c : connections) c->close("the test is over");
    io.poll();
  }
  template <class Done>
  void until(const Done& done) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (!done() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(100));
    REQUIRE(done());
  }
  size_t open_peer() {
    peers.emplace_back(io);
    peers.back().connect({asio::ip::address_v4::loopback(), listener.port()});
    until([&] { return connections.size() == peers.size(); });
    return peers.size() - 1;
  }
  // All of it arrives, or the connection has ended.
  void send(size_t peer, const std::string& bytes) {
    const uint64_t expected = connections[peer]->bytes_in() + bytes.size();
    peers[peer].non_blocking(true);
    size_t at = 0;
    until([&] {
      boost::system::error_code error;
      if (at < bytes.size())
        at += peers[peer].write_some(asio::buffer(bytes.data() + at, bytes.size() - at), error);
      return !connections[peer]->open() || connections[peer]->bytes_in() == expected;
    });
  }
};

}  // namespace limits_test

TEST_CASE("limits of a connection", "[wire]") {
  using namespace limits_test;
  Port port;
  const size_t a = port.open_peer();
  SECTION("the memory of a head grows with what comes, and is bounded for all together") {
    port.send(a, frame(Ack{}));
    port.send(a, header(60u << 20));
    CHECK(port.memory.held() == 0);
    port.send(a, std::string(3u << 20, 'x'));
    CHECK(port.memory.held() >= (3u << 20) - (64u << 10));
    CHECK(port.memory.held() <= 6u << 20);
    const size_t b = port.open_peer();
    port.send(b, frame(Ack{}));
    port.send(b, header(60u << 20) + std::string(5u << 20, 'x'));
    CHECK_FALSE(port.connections[b]->open());
    CHECK_THAT(port.keeper.reason, Catch::Contains("the memory for messages that are coming in is "
                                                   "used up (8192 KiB, see --memory_limit)"));
    // Small messages of others still come through.
    const size_t c = port.open_peer();
    port.send(c, frame(Ack{}) + frame(Ack{}));
    CHECK(port.connections[c]->open());
    port.connections[a]->close("done");
    port.connections.clear();
    port.io.poll();
    CHECK(port.memory.held() == 0);
    port.peers.clear();
  }
  SECTION("a long head is given back when its message was handled") {
    port.send(a, frame(Ack{}));
    port.send(a, frame(Configure{.values_digest = "d", .program = std::string(4u << 20, 'p')}));
    port.until([&] { return port.keeper.handled == 2; });
    CHECK(port.memory.held() == 0);
    port.send(a, frame(Ack{}));
    CHECK(port.keeper.handled == 3);
  }
  SECTION("the greeting and each role have their own") {
    port.keeper.limits = observer_limits;
    port.send(a, frame(Ack{}));
    port.send(a, header(observer_limits.head + 8) + "12345678");
    CHECK_THAT(port.keeper.reason, Catch::Contains("at most 4096 are allowed here"));
    const size_t b = port.open_peer();
    port.send(b, header(greeting_limits.head + 8) + "12345678");
    CHECK_THAT(port.keeper.reason, Catch::Contains("at most 65536 are allowed here"));
  }
}
