#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "support/connect.h"
#include "wire/connection.h"
#include "wire/listener.h"

using namespace paddle;
using namespace paddle::wire;

namespace {

std::vector<std::byte> sample_bytes(size_t n) {
  std::vector<std::byte> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  return out;
}

// Holds every push of a slice above `up_to`.
class Turns : public Handler {
 public:
  Landing land(Connection&, const Message& message, uint64_t bulk) override {
    ++asked;
    const uint32_t slice = std::get<Push>(message.body).parts[0].slice;
    if (slice > up_to) return Landing::hold();
    buffer.resize(bulk);
    return Landing::into(buffer);
  }
  void handle(Connection& c, Message& message, uint64_t) override {
    const auto* push = std::get_if<Push>(&message.body);
    if (push != nullptr) taken.push_back(push->parts[0].slice);
    c.send(message.id, Ack{taken.size()});
  }
  void arrived(Connection& c) override { c.flush(); }
  void closed(Connection&, const std::string& why) override { reason = why; }

  uint32_t up_to = 0;
  int asked = 0;
  std::vector<uint32_t> taken;
  std::vector<std::byte> buffer;
  std::string reason;
};

class Acks : public Handler {
 public:
  Landing land(Connection&, const Message&, uint64_t) override { return Landing::discard(); }
  void handle(Connection&, Message& message, uint64_t) override {
    versions.push_back(std::get<Ack>(message.body).version);
  }
  void closed(Connection&, const std::string& why) override { reason = why; }
  std::vector<uint64_t> versions;
  std::string reason;
};

template <class Server, class ClientSide>
struct Linked {
  asio::io_context io{1};
  Server server;
  ClientSide client;
  Listener listener{io, "127.0.0.1", 0};
  std::shared_ptr<Connection> server_side, client_side;

  Linked() {
    listener.accept([this](std::unique_ptr<Stream> s) {
      server_side = Connection::start(std::move(s), server, true);
      server_side->set_limits(trainer_limits);
    });
    client_side = Connection::start(connect_to(io, {"127.0.0.1", listener.port()}), client, false);
    until([this] { return server_side != nullptr; });
  }
  ~Linked() {
    listener.stop();
    if (client_side) client_side->close("the test is over");
    if (server_side) server_side->close("the test is over");
    io.poll();
  }
  template <class Done>
  void until(const Done& done) {
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (!done() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(100));
    REQUIRE(done());
  }
  void push(uint32_t slice, Bytes bulk) {
    const PushPart part{0, slice, 0};
    client_side->send(slice, Push{.step = slice, .parts = {&part, 1}}, bulk);
    client_side->flush();
  }
};

}  // namespace

TEST_CASE("a connection that is held", "[wire]") {
  Linked<Turns, Acks> p;
  const size_t size = GENERATE(size_t{100}, size_t{1} << 20);
  const auto bytes = sample_bytes(size);
  SECTION("reads nothing more until it is resumed, and then in order") {
    p.push(1, bytes);
    p.push(2, bytes);
    p.push(3, bytes);
    p.until([&] { return p.server_side->held(); });
    CHECK(p.server.taken.empty());
    const uint64_t before = p.server_side->bytes_in();
    p.io.poll();  // what has come meanwhile stays where it is
    CHECK(p.server_side->bytes_in() == before);
    CHECK(p.server_side->messages_in() == 0);
    CHECK(p.server_side->within_frame());
    p.server.up_to = 2;
    p.server_side->resume();
    CHECK(p.server.taken.empty());  // not from within the call
    p.until([&] { return p.client.versions.size() == 2; });
    CHECK(p.server.buffer == bytes);
    p.until([&] { return p.server_side->held(); });
    p.server.up_to = 3;
    p.server_side->resume();
    p.until([&] { return p.client.versions.size() == 3; });
    CHECK(p.server.taken == std::vector<uint32_t>{1, 2, 3});
    CHECK_FALSE(p.server_side->held());
    CHECK(p.server_side->messages_in() == 3);
    CHECK(p.client_side->messages_out() == 3);
    CHECK(p.client_side->messages_in() == 3);
  }
  SECTION("asks again each time it is resumed") {
    p.push(1, bytes);
    p.until([&] { return p.server_side->held(); });
    p.server_side->resume();
    CHECK_FALSE(p.server_side->held());
    p.until([&] { return p.server.asked == 2; });
    CHECK(p.server_side->held());
  }
  SECTION("still writes") {
    p.push(1, bytes);
    p.until([&] { return p.server_side->held(); });
    p.server_side->send(9, Ack{42});
    p.server_side->flush();
    p.until([&] { return !p.client.versions.empty(); });
    CHECK(p.client.versions.back() == 42);
  }
  SECTION("ends when the peer closes it, though its bytes are unread") {
    // As long as all of them are in the receiver's buffer: behind bytes that are still under way
    // the kernel does not see the end.
    p.push(1, Bytes(bytes).first(100));
    p.push(2, Bytes(bytes).first(100));
    p.until([&] { return p.server_side->held() && p.client_side->queued() == 0; });
    p.client_side->close("done");
    p.until([&] { return !p.server_side->open(); });
    CHECK(p.server.reason.find("closed") != std::string::npos);
    CHECK(p.server.taken.empty());
  }
  SECTION("ends at once where the peer had closed before it was held") {
    p.server.up_to = 1;
    p.push(2, bytes);
    p.until([&] { return p.server_side->held() && p.client_side->queued() == 0; });
    p.server.up_to = 2;
    p.push(3, bytes);
    p.until([&] { return p.client_side->queued() == 0; });
    p.server_side->resume();
    p.client_side->close("done");
    p.until([&] { return !p.server_side->open(); });
    CHECK(p.server.taken.size() <= 1);
  }
}

namespace {

// Takes what comes into three places of its own.
class Scattered : public Acks {
 public:
  Landing land(Connection&, const Message& message, uint64_t bulk) override {
    const auto& parts = std::get<Values>(message.body).parts;
    places.clear();
    spans.clear();
    for (const ValuesPart& p : parts) places.emplace_back(p.version);
    for (auto& p : places) spans.emplace_back(p);
    size_t sum = 0;
    for (const auto& p : places) sum += p.size();
    REQUIRE(sum == bulk);
    return Landing::into_pieces(spans);
  }
  void landed(Connection&, std::span<std::byte> part) override { shown += part.size(); }
  void handle(Connection&, Message& message, uint64_t bulk) override {
    REQUIRE(shown == bulk);
    shown = 0;
    versions.push_back(message.id);
  }
  std::vector<std::vector<std::byte>> places;
  std::vector<std::span<std::byte>> spans;
  size_t shown = 0;
};

}  // namespace

TEST_CASE("bulk of several pieces comes from and goes to several places", "[wire]") {
  Linked<Turns, Scattered> p;
  const Bulk lifetime = GENERATE(Bulk::stays, Bulk::changes);
  uint64_t id = 0;
  for (const auto& sizes : std::vector<std::vector<size_t>>{{10, 20, 30},
                                                            {5000, 1, 700000, 0, 9},
                                                            {0, 4096, 4097, 3 << 20},
                                                            std::vector<size_t>(2000, 1000),
                                                            std::vector<size_t>(200, 50000)}) {
    std::vector<ValuesPart> parts;
    std::vector<std::vector<std::byte>> from;
    for (const size_t n : sizes) {
      parts.push_back({n, 0, 0});
      from.push_back(sample_bytes(n + id));
      from.back().resize(n);
    }
    std::vector<Bytes> pieces(from.begin(), from.end());
    p.server_side->send(++id, Values{parts}, pieces, lifetime);
    const auto expected = from;
    if (lifetime == Bulk::changes)
      for (auto& f : from) std::fill(f.begin(), f.end(), std::byte{0xee});
    p.server_side->flush();
    p.until([&] { return p.client.versions.size() == id; });
    CHECK(p.client.places == expected);
  }
}

namespace {

// Answers everything by as many bytes as `buffer` has, which it overwrites afterwards.
class Answers : public Handler {
 public:
  Landing land(Connection&, const Message&, uint64_t bulk) override {
    landed_here.resize(bulk);
    return Landing::into(landed_here);
  }
  void handle(Connection& c, Message& message, uint64_t) override {
    std::memset(buffer.data(), static_cast<int>(message.id), buffer.size());
    const ValuesPart part{message.id, 0, 0};
    c.send(message.id, Values{{&part, 1}}, Bytes(buffer), Bulk::changes);
    most_kept = std::max(most_kept, c.kept());
  }
  void arrived(Connection& c) override { c.flush(); }
  void closed(Connection&, const std::string& why) override { reason = why; }

  std::vector<std::byte> landed_here, buffer = std::vector<std::byte>(1 << 20);
  size_t most_kept = 0;
  std::string reason;
};

// Reads nothing behind the first head while it is deaf.
class Deaf : public Handler {
 public:
  Landing land(Connection&, const Message&, uint64_t bulk) override {
    if (deaf) return Landing::hold();
    buffer.resize(bulk);
    return Landing::into(buffer);
  }
  void handle(Connection&, Message& message, uint64_t bulk) override {
    right = right && bulk == 1 << 20 && message.id == ids + 1 &&
            buffer[0] == static_cast<std::byte>(message.id) &&
            std::memcmp(buffer.data(), buffer.data() + 1, buffer.size() - 1) == 0;  // all the same
    ++ids;
  }
  void closed(Connection&, const std::string& why) override { reason = why; }

  bool deaf = true, right = true;
  uint64_t ids = 0;
  std::vector<std::byte> buffer;
  std::string reason;
};

}  // namespace

TEST_CASE("copies for a peer that does not read are bounded", "[wire]") {
  Linked<Answers, Deaf> p;
  constexpr uint64_t count = 200;  // more MiB than the kernel takes
  const auto bytes = sample_bytes(1 << 20);
  SECTION("large messages") {
    for (uint64_t i = 1; i <= count; ++i) {
      const PushPart part{0, 0, 0};
      p.client_side->send(i, Push{.pull = true, .parts = {&part, 1}}, bytes);
    }
  }
  SECTION("small ones, many of which are read in one go") {
    for (uint64_t i = 1; i <= count; ++i) {
      const PullPart part{0, 0, 0};
      p.client_side->send(i, Pull{.parts = {&part, 1}});
    }
  }
  p.client_side->flush();
  p.until([&] { return p.server_side->paused() && p.client_side->held(); });
  CHECK(p.server_side->open());
  CHECK(p.server_side->kept() > 0);
  CHECK(p.server_side->messages_in() < count);

  p.client.deaf = false;
  p.client_side->resume();
  p.until([&] { return p.client.ids == count; });
  CHECK(p.client.right);
  CHECK(p.server.most_kept <= 5u << 20);
  CHECK(p.server_side->kept() == 0);
  CHECK_FALSE(p.server_side->paused());
  CHECK(p.server.reason.empty());
}
