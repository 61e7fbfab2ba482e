#include "wire/gate.h"

#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <deque>

#include "base/error.h"
#include "support/quiet_log.h"
#include "support/temporary.h"
#include "wire/connection.h"
#include "wire/listener.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace gate_test {

Credentials with_token(char digit) {
  const std::string text(64, digit);
  return {std::make_shared<const Token>(parse_token(std::as_bytes(std::span(text)), "the test")),
          nullptr};
}

// A gate behind a listening port; what passed it.
struct Door {
  asio::io_context io{1};
  Listener listener{io, "127.0.0.1", 0};
  Gate gate;
  std::vector<std::unique_ptr<Stream>> passed;
  std::vector<Proof> proofs;

  explicit Door(Credentials credentials, GateLimits limits = {})
      : gate(io, std::move(credentials), limits) {
    listener.accept([this](std::unique_ptr<Stream> s) {
      gate.take(std::move(s), [this](std::unique_ptr<Stream> stream, const Proof& proof) {
        passed.push_back(std::move(stream));
        proofs.push_back(proof);
      });
    });
  }
  ~Door() {
    listener.stop();
    for (auto& s : passed) s->close();
    io.poll();
  }

  tcp::socket dial() {
    tcp::socket s(io);
    s.connect({asio::ip::make_address("127.0.0.1"), listener.port()});
    return s;
  }
  template <class Done>
  bool until(const Done& done, double seconds = 20) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!done() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(20));
    return done();
  }
  // What the other side sends until it closes.
  std::string rest(tcp::socket& s) {
    std::string all;
    s.non_blocking(true);
    bool ended = false;
    until([&] {
      char buffer[4096];
      boost::system::error_code error;
      const size_t n = s.read_some(asio::buffer(buffer), error);
      all.append(buffer, n);
      ended = error && error != asio::error::would_block;
      return ended;
    });
    CHECK(ended);
    return all;
  }
  // A client that connects as processes do; "" where it got through.
  std::string connects(const Credentials& credentials, const Purpose& purpose,
                       double seconds = 20) {
    std::string problem = "unfinished";
    std::unique_ptr<Stream> stream;
    const Endpoint to{"127.0.0.1", listener.port()};
    asio::co_spawn(
        io, [&]() { return wire::connect(to, seconds, credentials, purpose); },
        [&](std::exception_ptr e, std::unique_ptr<Stream> made) {
          stream = std::move(made);
          problem.clear();
          try {
            if (e) std::rethrow_exception(e);
          } catch (const Error& error) {
            problem = error.what();
            kind = error.kind();
          }
        });
    until([&] { return problem != "unfinished"; });
    kept.push_back(std::move(stream));
    return problem;
  }

  Error::Kind kind = Error::Kind::io;
  std::vector<std::unique_ptr<Stream>> kept;
};

const Purpose watch{};

}  // namespace gate_test

using namespace gate_test;

TEST_CASE("a gate lets those pass that prove the token", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'));
  CHECK(door.connects(with_token('a'), {Role::trainer, 3}) == "");
  REQUIRE(door.until([&] { return door.passed.size() == 1; }));
  CHECK(door.proofs[0].grant == Grant{Grant::Kind::trainer, 3});
  CHECK(door.gate.waiting() == 0);
  CHECK_THAT(door.connects(with_token('b'), watch), Contains("does not know the token"));
  CHECK(door.kind == Error::Kind::config);
  CHECK(door.until([&] { return door.gate.waiting() == 0; }));
  CHECK(door.passed.size() == 1);
}

TEST_CASE("without credentials everybody passes at once", "[wire]") {
  Door door({});
  tcp::socket s = door.dial();
  CHECK(door.until([&] { return door.passed.size() == 1; }));
  CHECK(door.connects({}, watch) == "");
}

TEST_CASE("a peer that shows no token is told what it needs, and nothing of the job", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'));
  tcp::socket s = door.dial();
  MessageWriter writer;
  const Bytes head = writer.write(1, make_hello(Role::trainer));
  std::string frame(header_bytes + (head.size() + 7) / 8 * 8, '\0');
  write_header(reinterpret_cast<std::byte*>(frame.data()),
               {static_cast<uint32_t>(frame.size() - header_bytes), 0});
  std::memcpy(frame.data() + header_bytes, head.data(), head.size());
  s.write_some(asio::buffer(frame));
  std::string answer = door.rest(s);
  CHECK_THAT(answer, Contains("--token_file"));
  CHECK(answer.size() < 400);
  CHECK(door.passed.empty());
}

TEST_CASE("nonsense gets no answer at all", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'));
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\nHost: paddle.example.com\r\nAccept: */*\r\n\r\n\r\n"),
        std::string(100, '\xff'), std::string("\x16\x03\x01\x02") + std::string(100, 'x'),
        std::string("PSA1") + std::string(100, '\0')}) {
    tcp::socket s = door.dial();
    s.write_some(asio::buffer(words));
    CHECK(door.rest(s) == "");
  }
  CHECK(door.passed.empty());
  CHECK(door.gate.refused() == 4);
}

TEST_CASE("a handshake that is cut at any byte lets nobody pass", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'));
  const Credentials credentials = with_token('a');
  for (size_t cut = 0; cut < client_hello_bytes + client_proof_bytes; ++cut) {
    INFO("after " << cut << " bytes");
    tcp::socket s = door.dial();
    const auto client = client_handshake(*credentials.token, watch, {}, new_nonce());
    const auto send = [&](std::span<const std::byte> bytes) {
      boost::system::error_code ignored;
      if (!bytes.empty()) s.write_some(asio::buffer(bytes.data(), bytes.size()), ignored);
    };
    const auto hello = client->first();
    send(std::span(hello).first(std::min(cut, hello.size())));
    if (cut > hello.size()) {
      std::vector<std::byte> answer(server_proof_bytes);
      size_t have = 0;
      s.non_blocking(true);
      REQUIRE(door.until([&] {
        boost::system::error_code again;
        have += s.read_some(asio::buffer(answer.data() + have, answer.size() - have), again);
        return have == answer.size();
      }));
      const auto proof = client->take(answer);
      send(std::span(proof).first(cut - hello.size()));
    }
    s.close();
    REQUIRE(door.until([&] { return door.gate.refused() == cut + 1; }));
    REQUIRE(door.passed.empty());
    REQUIRE(door.gate.waiting() == 0);
  }
}

TEST_CASE("a look whether somebody listens is no warning", "[wire]") {
  QuietLog log(0);
  Door door(with_token('a'));
  door.dial().close();
  REQUIRE(door.until([&] { return door.gate.refused() == 1; }));
  CHECK(log.pipe.read().empty());
  tcp::socket half = door.dial();  // as a process with another token does
  asio::write(half, asio::buffer(std::string(client_hello_bytes, '\0').replace(0, 4, "PSA1")));
  half.close();
  REQUIRE(door.until([&] { return door.gate.refused() == 2; }));
  CHECK_THAT(log.pipe.read(), Contains("refused a connection"));
}

TEST_CASE("who proves nothing is closed after a while, at every stage", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'), {.seconds = 0.3});
  const Credentials credentials = with_token('a');
  const auto client = client_handshake(*credentials.token, watch, {}, new_nonce());
  const auto hello = client->first();
  tcp::socket silent = door.dial(), begun = door.dial(), greeted = door.dial();
  begun.write_some(asio::buffer(hello.data(), 10));
  greeted.write_some(asio::buffer(hello.data(), hello.size()));
  const auto start = Clock::now();
  CHECK(door.rest(silent) == "");
  CHECK(door.rest(begun) == "");
  CHECK(door.rest(greeted).size() == server_proof_bytes);
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  CHECK(took > 0.2);
  CHECK(took < 10);
  CHECK(door.gate.waiting() == 0);
  CHECK(GateLimits{}.seconds == 10);
}

TEST_CASE("strangers are few, and a process of the job gets past them", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'), {.total = 20, .per_address = 8});
  std::deque<tcp::socket> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.push_back(door.dial());
    if (i % 10 == 9) {
      CHECK(door.connects(with_token('a'), {Role::trainer, 0}) == "");
    }
    CHECK(door.gate.waiting() <= 8);
  }
  CHECK(door.until([&] { return door.passed.size() == 10; }));
  CHECK(door.gate.refused() >= 90);
}

TEST_CASE("the oldest stranger of all goes where there are too many addresses", "[wire]") {
  const QuietLog quiet;
  Door door(with_token('a'), {.total = 4, .per_address = 8});
  std::deque<tcp::socket> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.push_back(door.dial());
    door.until([&] { return door.gate.waiting() + door.gate.refused() == strangers.size(); });
    CHECK(door.gate.waiting() <= 4);
  }
  CHECK(door.gate.refused() == 6);
}

TEST_CASE("a client with a token does not talk to a server without one", "[wire]") {
  Door door({});
  const std::string problem = door.connects(with_token('a'), watch, 0.3);
  CHECK_THAT(problem, Contains("did not prove who it is"));
  CHECK(door.kind == Error::Kind::peer);
}

TEST_CASE("addresses that others reach need protection", "[wire]") {
  asio::io_context io;
  for (const char* host : {"", "0.0.0.0", "::"}) {
    CHECK_THROWS_WITH(Listener(io, host, 0), Contains("--token_file") && Contains("--insecure"));
    CHECK_NOTHROW(Listener(io, host, 0, Reach::everywhere));
  }
  for (const char* host : {"127.0.0.1", "127.8.9.10", "localhost"})
    CHECK_NOTHROW(Listener(io, host, 0));
  CHECK_THROWS_WITH(Listener(io, "192.0.2.7", 0), Contains("address of this machine"));
}
