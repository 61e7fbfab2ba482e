#include "wire/stream.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "support/connect.h"
#include "wire/connection.h"
#include "wire/listener.h"

using namespace paddle;
using namespace paddle::wire;

namespace stream_test {

// Over another stream, as TLS is: it has to wait until it can write before it reads, every other
// time, and moves few bytes at once.
class Contrary final : public Stream {
 public:
  explicit Contrary(std::unique_ptr<Stream> below) : below_(std::move(below)) {}

  Moved read_some(std::span<const iovec> parts) override {
    wrote_first_ = !wrote_first_;
    if (wrote_first_) return {.kind = Moved::Kind::again, .until = StreamEvent::writable};
    return below_->read_some(few(parts));
  }
  Moved write_some(std::span<const iovec> parts) override { return below_->write_some(few(parts)); }
  void wait(StreamEvent event, std::shared_ptr<StreamUser> user) override {
    ++waits[static_cast<size_t>(event)];
    below_->wait(event, std::move(user));
  }
  void close() override { below_->close(); }
  const std::string& peer() const override { return below_->peer(); }
  asio::any_io_executor executor() override { return below_->executor(); }

  size_t waits[3] = {}, at_once = 1000;

 private:
  std::span<const iovec> few(std::span<const iovec> parts) {
    for (const iovec& p : parts) {
      if (p.iov_len == 0) continue;
      part_ = {p.iov_base, std::min(p.iov_len, at_once)};
      return {&part_, 1};
    }
    return {};
  }

  std::unique_ptr<Stream> below_;
  iovec part_{};
  bool wrote_first_ = false;
};

// Sends back what it gets.
class Mirror : public Handler {
 public:
  Landing land(Connection&, const Message&, uint64_t bulk) override {
    bytes.resize(bulk);
    return Landing::into(bytes);
  }
  void handle(Connection& c, Message& message, uint64_t) override {
    ++messages;
    if (answers) c.send(message.id, message.body, bytes, Bulk::changes);
  }
  void arrived(Connection& c) override { c.flush(); }
  void closed(Connection&, const std::string& why) override { reason = why; }

  bool answers = true;
  size_t messages = 0;
  std::vector<std::byte> bytes;
  std::string reason;
};

struct Pair {
  asio::io_context io{1};
  Mirror server, client;
  Listener listener{io, "127.0.0.1", 0};
  Contrary* contrary = nullptr;
  std::shared_ptr<Connection> server_side, client_side;

  Pair() {
    client.answers = false;
    listener.accept([this](std::unique_ptr<Stream> s) {
      auto over = std::make_unique<Contrary>(std::move(s));
      contrary = over.get();
      server_side = Connection::start(std::move(over), server, true);
      server_side->set_limits(trainer_limits);
    });
    client_side = Connection::start(connect_to(io, {"127.0.0.1", listener.port()}), client, false);
    until([this] { return server_side != nullptr; });
  }
  ~Pair() {
    listener.stop();
    client_side->close("the test is over");
    server_side->close("the test is over");
    io.poll();
  }
  template <class Done>
  void until(const Done& done) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (!done() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(100));
    REQUIRE(done());
  }
};

}  // namespace stream_test

TEST_CASE("a connection over a stream that writes in order to read", "[wire]") {
  stream_test::Pair p;
  std::vector<std::byte> bulk(100'000);
  for (size_t i = 0; i < bulk.size(); ++i) bulk[i] = static_cast<std::byte>(i * 7 + i / 251);
  const std::vector<PushPart> parts{{1, 2, 0}, {3, 4, 0}};
  for (uint64_t step = 1; step <= 5; ++step) {
    p.client_side->send(step, Push{.step = step, .parts = parts}, bulk);
    p.client_side->flush();
  }
  p.until([&] { return p.client.messages == 5; });
  CHECK(p.client.bytes == bulk);
  CHECK(p.server.messages == 5);
  CHECK(p.contrary->waits[static_cast<size_t>(StreamEvent::writable)] > 5);
  p.client_side->close("done");
  p.until([&] { return !p.server_side->open(); });
  CHECK(p.server.reason == "the other side closed it");
}

TEST_CASE("values that change while they are sent arrive word by word whole", "[wire]") {
  stream_test::Pair p;
  p.contrary->at_once = 997;  // cuts words at every place
  constexpr uint64_t each_byte = 0x0101010101010101;
  std::vector<uint64_t> words(10'000, 0);
  const ValuesPart part{1, 2, 0};
  p.server_side->send(1, Values{{&part, 1}}, std::as_bytes(std::span(words)), Bulk::live);
  uint64_t state = 0;
  p.until([&] {  // after every event
    state = std::min<uint64_t>(state + 1, 255);
    std::fill(words.begin(), words.end(), state * each_byte);
    return p.client.messages == 1;
  });
  REQUIRE(p.client.bytes.size() == words.size() * sizeof(uint64_t));
  std::memcpy(words.data(), p.client.bytes.data(), p.client.bytes.size());
  CHECK(std::all_of(words.begin(), words.end(), [](uint64_t w) { return w % each_byte == 0; }));
  CHECK(std::is_sorted(words.begin(), words.end()));
  CHECK(words.front() < words.back());  // several states
  CHECK(p.server_side->kept() == 0);
}
