#include "wire/handshake.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "wire/frame.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace handshake_test {

using Said = std::vector<std::byte>;

Token token_of(char digit) {
  const std::string text(64, digit);
  return parse_token(std::as_bytes(std::span(text)), "the test");
}
Token derived(const Token& job, const Grant& grant) {
  const Secret text = derived_token_text(job, grant);
  return parse_token(text.bytes(), "the test");
}

Nonce nonce_of(int value) {
  Nonce out;
  out.fill(static_cast<std::byte>(value));
  return out;
}

struct Meeting {
  Said hello, answer, proof;
  Proof proven;
};

// Both sides, each message handed over as it is.
Meeting meet(const Token& server_token, const Token& client_token, const Purpose& purpose,
             int server_nonce = 1, int client_nonce = 2, const Binding& at_server = {},
             const Binding& at_client = {}) {
  const auto client = client_handshake(client_token, purpose, at_client, nonce_of(client_nonce));
  const auto server = server_handshake(server_token, at_server, nonce_of(server_nonce));
  Meeting m;
  m.hello = client->first();
  CHECK(server->wants() == m.hello.size());
  m.answer = server->take(m.hello);
  CHECK(client->wants() == m.answer.size());
  m.proof = client->take(m.answer);
  CHECK(client->wants() == 0);
  CHECK(server->wants() == m.proof.size());
  CHECK(server->take(m.proof).empty());
  CHECK(server->wants() == 0);
  m.proven = server->proof();
  return m;
}

const Purpose trainer_0{Role::trainer, 0}, beat_0{Role::beat, 0}, trainer_1{Role::trainer, 1},
    any_trainer{Role::trainer, {}}, observer{Role::observer, {}}, admin{Role::admin, {}};

Hello greeting(Role role, uint32_t trainer = 0, bool takes_id = false) {
  Hello h;
  h.role = role;
  h.trainer = trainer;
  h.takes_id = takes_id;
  return h;
}

}  // namespace handshake_test

using namespace handshake_test;

TEST_CASE("two sides with one token prove it to each other", "[wire]") {
  const Token job = token_of('a');
  for (const Purpose& p : {trainer_0, beat_0, trainer_1, any_trainer, observer}) {
    const Meeting m = meet(job, job, p);
    REQUIRE(m.proven.purpose);
    CHECK(m.proven.purpose->role == p.role);
    CHECK(m.proven.purpose->trainer == p.trainer);
    CHECK(m.hello.size() + m.answer.size() + m.proof.size() < 4096);
  }
  CHECK(meet(job, job, observer).proven.grant.kind == Grant::Kind::observer);
}

TEST_CASE("another token is found out by both sides", "[wire]") {
  const Token job = token_of('a'), other = token_of('b');
  const auto client = client_handshake(other, trainer_0, {}, nonce_of(1));
  const auto server = server_handshake(job, {}, nonce_of(2));
  const Said answer = server->take(client->first());
  CHECK_THROWS_WITH(client->take(answer), Contains("does not know the token"));
  // A client that goes on nevertheless.
  const Meeting right = meet(other, other, trainer_0, 2, 1);
  CHECK_THROWS_WITH(server->take(right.proof), Contains("proof of the token is wrong"));
  CHECK(server->wants() != 0);
}

TEST_CASE("a recorded handshake proves nothing again", "[wire]") {
  const Token job = token_of('a');
  const Meeting recorded = meet(job, job, trainer_0, 1, 2);
  SECTION("to a server, which has a new nonce") {
    const auto server = server_handshake(job, {}, nonce_of(3));
    server->take(recorded.hello);
    CHECK_THROWS_AS(server->take(recorded.proof), Error);
  }
  SECTION("to a client, which has a new nonce") {
    const auto client = client_handshake(job, trainer_0, {}, nonce_of(4));
    CHECK_THROWS_AS(client->take(recorded.answer), Error);
  }
  SECTION("for another purpose") {
    const auto server = server_handshake(job, {}, nonce_of(1));
    Said hello = recorded.hello;
    hello[9] = static_cast<std::byte>(Role::beat);
    server->take(hello);
    CHECK_THROWS_AS(server->take(recorded.proof), Error);
  }
}

TEST_CASE("what a server says is no proof of a client, and the reverse", "[wire]") {
  const Token job = token_of('a');
  // The attacker has no token: it asks the server for a proof, and gives it back as its own.
  const auto client = client_handshake(job, trainer_0, {}, nonce_of(7));
  const auto server = server_handshake(job, {}, nonce_of(7));
  const Said answer = server->take(client->first());
  CHECK_THROWS_AS(server->take(std::span(answer).subspan(32)), Error);
  // It gives a client's proof to that client as the server's, with the server's nonce before it.
  const Said proof = client->take(answer);
  const auto again = client_handshake(job, trainer_0, {}, nonce_of(7));
  Said reflected(answer.begin(), answer.begin() + 32);
  reflected.insert(reflected.end(), proof.begin(), proof.end());
  CHECK_THROWS_AS(again->take(reflected), Error);
}

TEST_CASE("every byte of a handshake counts", "[wire]") {
  const Token job = token_of('a');
  const Meeting m = meet(job, job, trainer_0);
  for (size_t i = 0; i < m.hello.size(); ++i) {
    INFO("byte " << i << " of the client's hello");
    Said hello = m.hello;
    hello[i] ^= std::byte{1};
    const auto server = server_handshake(job, {}, nonce_of(1));
    const bool refused = [&] {
      try {
        server->take(hello);
        server->take(m.proof);
        return false;
      } catch (const Error&) {
        return true;
      }
    }();
    CHECK(refused);
    CHECK(server->wants() != 0);
  }
  for (size_t i = 0; i < m.answer.size(); ++i) {
    Said answer = m.answer;
    answer[i] ^= std::byte{0x80};
    const auto client = client_handshake(job, trainer_0, {}, nonce_of(2));
    CHECK_THROWS_AS(client->take(answer), Error);
  }
  for (size_t i = 0; i < m.proof.size(); ++i) {
    Said proof = m.proof;
    proof[i] ^= std::byte{0x10};
    const auto server = server_handshake(job, {}, nonce_of(1));
    server->take(m.hello);
    CHECK_THROWS_AS(server->take(proof), Error);
  }
}

TEST_CASE("a handshake is bound to the TLS connection below it", "[wire]") {
  const Token job = token_of('a');
  Binding one{}, two{};
  one[0] = std::byte{1};
  two[0] = std::byte{2};
  CHECK_NOTHROW(meet(job, job, trainer_0, 1, 2, one, one));
  // Somebody between two TLS connections hands the bytes on.
  const auto client = client_handshake(job, trainer_0, one, nonce_of(1));
  const auto server = server_handshake(job, two, nonce_of(2));
  CHECK_THROWS_AS(client->take(server->take(client->first())), Error);
}

TEST_CASE("a derived token allows what it is for and nothing else", "[wire]") {
  const Token job = token_of('a');
  const auto proven = [&](const Grant& grant, const Purpose& purpose) {
    return meet(job, derived(job, grant), purpose).proven;
  };
  using Kind = Grant::Kind;
  SECTION("observer") {
    const Grant g{Kind::observer, 0};
    CHECK(refusal_of(proven(g, observer), greeting(Role::observer)).empty());
    CHECK_THAT(refusal_of(proven(g, trainer_0), greeting(Role::trainer)), Contains("'observer'"));
    CHECK_THAT(refusal_of(proven(g, beat_0), greeting(Role::beat)), Contains("not train"));
    // Said to observe, and then greets as a trainer.
    CHECK_FALSE(refusal_of(proven(g, observer), greeting(Role::trainer)).empty());
    CHECK_THAT(refusal_of(proven(g, admin), greeting(Role::admin)), Contains("only an admin"));
    CHECK_FALSE(refusal_of(proven(g, observer), greeting(Role::admin)).empty());
  }
  SECTION("admin") {
    const Grant g{Kind::admin, 0};
    CHECK(refusal_of(proven(g, admin), greeting(Role::admin)).empty());
    CHECK_FALSE(refusal_of(proven(g, observer), greeting(Role::admin)).empty());
    CHECK(grant_for(job, admin) == g);
    CHECK(refusal_of(proven(g, observer), greeting(Role::observer)).empty());
    CHECK_FALSE(refusal_of(proven(g, trainer_0), greeting(Role::trainer)).empty());
  }
  SECTION("one trainer") {
    const Grant g{Kind::trainer, 1};
    CHECK(refusal_of(proven(g, trainer_1), greeting(Role::trainer, 1)).empty());
    CHECK(refusal_of(proven(g, {Role::beat, 1}), greeting(Role::beat, 1)).empty());
    CHECK_THAT(refusal_of(proven(g, admin), greeting(Role::admin)), Contains("only an admin"));
    CHECK(refusal_of(proven(g, observer), greeting(Role::observer)).empty());
    CHECK_THAT(refusal_of(proven(g, trainer_0), greeting(Role::trainer, 0)),
               Contains("wants to be trainer 0"));
    CHECK_THAT(refusal_of(proven(g, any_trainer), greeting(Role::trainer, 0, true)),
               Contains("--trainer_id=1"));
    // Proves trainer 1 and greets as trainer 0.
    CHECK_FALSE(refusal_of(proven(g, trainer_1), greeting(Role::trainer, 0)).empty());
  }
  SECTION("any trainer") {
    const Grant g{Kind::trainers, 0};
    CHECK(refusal_of(proven(g, trainer_1), greeting(Role::trainer, 1)).empty());
    CHECK(refusal_of(proven(g, any_trainer), greeting(Role::trainer, 0, true)).empty());
    CHECK_FALSE(refusal_of(proven(g, admin), greeting(Role::admin)).empty());
    CHECK_FALSE(refusal_of(proven(g, trainer_1), greeting(Role::trainer, 0)).empty());
    CHECK_FALSE(refusal_of(proven(g, trainer_1), greeting(Role::beat, 1)).empty());
  }
  SECTION("a server cannot be made of one") {
    const Token one = derived(job, {Kind::observer, 0});
    const auto client = client_handshake(job, trainer_0, {}, nonce_of(1));
    CHECK_THROWS_AS(server_handshake(one, {}, nonce_of(2))->take(client->first()), Error);
  }
}

TEST_CASE("certificates allow what they name", "[wire]") {
  Proof by_certificate{.grant = {}, .purpose = {}, .certificate = Grant{Grant::Kind::trainer, 2}};
  CHECK(refusal_of(by_certificate, greeting(Role::trainer, 2)).empty());
  CHECK_THAT(refusal_of(by_certificate, greeting(Role::trainer, 0)), Contains("the certificate"));
  by_certificate.certificate = Grant{Grant::Kind::observer, 0};
  CHECK_FALSE(refusal_of(by_certificate, greeting(Role::trainer, 0)).empty());
  CHECK(refusal_of({}, greeting(Role::trainer, 5)).empty());  // without any protection
}

TEST_CASE("a peer without a token is told apart", "[wire]") {
  const Token job = token_of('a');
  std::vector<std::byte> frame(client_hello_bytes);
  write_header(frame.data(), {40, 0});
  CHECK_THROWS_AS(server_handshake(job, {}, nonce_of(1))->take(frame), PlainPeer);
  CHECK(begins_plain(frame));
  CHECK_FALSE(begins_plain(std::span(frame).first(3)));
}
