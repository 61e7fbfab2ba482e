#include "wire/handshake.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "wire/frame.h"

namespace paddle::wire {
namespace {

constexpr uint32_t handshake_magic = 0x31415350;  // "PSA1"
constexpr uint32_t any_trainer = ~uint32_t{0};
// One for each direction: what a client sends proves nothing as a server's answer.
constexpr std::string_view server_label = "paddle server 1 ", client_label = "paddle client 1 ";

using Mac = std::array<std::byte, 32>;
using ClientHello = std::array<std::byte, client_hello_bytes>;

Mac mac_of(const Secret& key, std::string_view label, const ClientHello& hello, const Nonce& nonce,
           const Binding& binding) {
  std::array<std::byte, 16 + client_hello_bytes + 32 + 32> said;
  std::byte* at = said.data();
  const auto add = [&](const void* from, size_t size) {
    std::memcpy(at, from, size);
    at += size;
  };
  add(label.data(), label.size());
  add(hello.data(), hello.size());
  add(nonce.data(), nonce.size());
  add(binding.data(), binding.size());
  Mac out{};
  unsigned size = 0;
  const auto* result = HMAC(EVP_sha256(), key.bytes().data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(said.data()), said.size(),
                            reinterpret_cast<unsigned char*>(out.data()), &size);
  require(result != nullptr && size == out.size(), Error::Kind::io,
          "libcrypto cannot compute HMAC with SHA-256");
  return out;
}

bool same(std::span<const std::byte> a, const Mac& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), b.size()) == 0;
}

uint32_t word_at(const ClientHello& hello, size_t offset) {
  uint32_t out = 0;
  std::memcpy(&out, hello.data() + offset, sizeof out);
  return out;
}

ClientHello write_hello(const Grant& grant, const Purpose& purpose, const Nonce& nonce) {
  ClientHello out{};
  const auto put = [&](size_t offset, uint32_t word) {
    std::memcpy(out.data() + offset, &word, sizeof word);
  };
  put(0, handshake_magic);
  put(4, protocol_version);
  out[8] = static_cast<std::byte>(grant.kind);
  out[9] = static_cast<std::byte>(purpose.role);
  put(12, grant.id);
  put(16, purpose.trainer.value_or(any_trainer));
  std::copy(nonce.begin(), nonce.end(), out.begin() + 24);
  return out;
}

struct ReadHello {
  Grant grant;
  Purpose purpose;
};

ReadHello read_hello(const ClientHello& hello) {
  const auto kind = static_cast<uint8_t>(hello[8]), role = static_cast<uint8_t>(hello[9]);
  const bool zeros =
      hello[10] == std::byte{0} && hello[11] == std::byte{0} && word_at(hello, 20) == 0;
  require(word_at(hello, 0) == handshake_magic && zeros && kind >= 1 &&
              kind <= static_cast<uint8_t>(Grant::Kind::admin) &&
              role <= static_cast<uint8_t>(Role::admin),
          Error::Kind::protocol, "this is no handshake of the paddle protocol");
  ReadHello out{{static_cast<Grant::Kind>(kind), word_at(hello, 12)},
                {static_cast<Role>(role), {}}};
  require(out.grant.id == 0 || out.grant.kind == Grant::Kind::trainer, Error::Kind::protocol,
          "this is no handshake of the paddle protocol");
  if (word_at(hello, 16) != any_trainer) out.purpose.trainer = word_at(hello, 16);
  return out;
}

class Client final : public Handshake {
 public:
  Client(const Token& token, const Purpose& purpose, const Binding& binding, const Nonce& nonce)
      : key_(key_of(token, grant_for(token, purpose))),
        binding_(binding),
        hello_(write_hello(grant_for(token, purpose), purpose, nonce)) {}

  std::vector<std::byte> first() const override { return {hello_.begin(), hello_.end()}; }
  size_t wants() const override { return done_ ? 0 : server_proof_bytes; }
  std::vector<std::byte> take(std::span<const std::byte> bytes) override {
    Nonce nonce;
    std::copy_n(bytes.begin(), nonce.size(), nonce.begin());
    require(
        same(bytes.subspan(nonce.size(), 32), mac_of(key_, server_label, hello_, nonce, binding_)),
        Error::Kind::config,
        "it does not know the token of this process: give all processes of a job the same "
        "--token_file, or one that was derived from it");
    done_ = true;
    const Mac proof = mac_of(key_, client_label, hello_, nonce, binding_);
    return {proof.begin(), proof.end()};
  }

 private:
  const Secret key_;
  const Binding binding_;
  const ClientHello hello_;
  bool done_ = false;
};

class Server final : public Handshake {
 public:
  Server(const Token& token, const Binding& binding, const Nonce& nonce)
      : token_(token), binding_(binding), nonce_(nonce) {}

  size_t wants() const override {
    return done_ ? 0 : said_.grant.kind == none ? client_hello_bytes : client_proof_bytes;
  }
  std::vector<std::byte> take(std::span<const std::byte> bytes) override {
    return said_.grant.kind == none ? answer(bytes) : finish(bytes);
  }
  Proof proof() const override { return {said_.grant, said_.purpose, {}}; }

 private:
  static constexpr auto none = static_cast<Grant::Kind>(0);

  std::vector<std::byte> answer(std::span<const std::byte> bytes) {
    std::copy_n(bytes.begin(), hello_.size(), hello_.begin());
    if (word_at(hello_, 0) == magic)
      throw PlainPeer(Error::Kind::config, "it shows no token, and this job has one");
    const ReadHello said = read_hello(hello_);
    key_ = key_of(token_, said.grant);
    said_ = said;
    const Mac mac = mac_of(key_, server_label, hello_, nonce_, binding_);
    std::vector<std::byte> out(nonce_.begin(), nonce_.end());
    out.insert(out.end(), mac.begin(), mac.end());
    return out;
  }
  std::vector<std::byte> finish(std::span<const std::byte> bytes) {
    require(same(bytes, mac_of(key_, client_label, hello_, nonce_, binding_)),
            Error::Kind::protocol, "its proof of the token is wrong");
    done_ = true;
    return {};
  }

  const Token& token_;
  const Binding binding_;
  const Nonce nonce_;
  ClientHello hello_{};
  Secret key_;
  ReadHello said_{{none, 0}, {}};
  bool done_ = false;
};

constexpr std::array<std::byte, 4> accepted{std::byte{'P'}, std::byte{'S'}, std::byte{'O'},
                                            std::byte{'K'}};

class Accepted final : public Handshake {
 public:
  size_t wants() const override { return 0; }
  std::vector<std::byte> first() const override { return {accepted.begin(), accepted.end()}; }
  std::vector<std::byte> take(std::span<const std::byte>) override { return {}; }
};

class AwaitsAcceptance final : public Handshake {
 public:
  size_t wants() const override { return done_ ? 0 : accepted.size(); }
  std::vector<std::byte> take(std::span<const std::byte> bytes) override {
    require(std::equal(accepted.begin(), accepted.end(), bytes.begin(), bytes.end()),
            Error::Kind::config,
            "it asks for a token besides the certificate: give this process its --token_file");
    done_ = true;
    return {};
  }

 private:
  bool done_ = false;
};

// What a grant alone allows.
std::string refusal_of(const Grant& grant, const Hello& hello, const std::string& what) {
  using Kind = Grant::Kind;
  const bool observes = hello.role == Role::observer, commands = hello.role == Role::admin;
  const std::string start = text("the ", what, " of this process is for '", name_of(grant), "'");
  switch (grant.kind) {
    case Kind::job: return "";
    case Kind::trainers:
    case Kind::trainer: break;
    case Kind::admin:
      return observes || commands ? "" : start + ", which may command and look, and not train";
    case Kind::observer:
      if (!commands) return observes ? "" : start + ", which may look at the status and not train";
  }
  if (commands) return start + ", and only an admin may ask for a snapshot or a stop";
  if (observes || grant.kind == Kind::trainers) return "";
  if (hello.takes_id) return start + text(": start it with --trainer_id=", grant.id);
  return hello.trainer == grant.id ? ""
                                   : start + text(", and it wants to be trainer ", hello.trainer);
}

}  // namespace

std::string refusal_of(const Proof& proof, const Hello& hello) {
  std::string why = refusal_of(proof.grant, hello, "token");
  if (why.empty() && proof.certificate) why = refusal_of(*proof.certificate, hello, "certificate");
  if (!why.empty() || !proof.purpose) return why;
  const bool fits =
      hello.role == proof.purpose->role &&
      (!takes_part(hello.role) ||
       (hello.takes_id ? !proof.purpose->trainer : proof.purpose->trainer == hello.trainer));
  return fits ? "" : "the greeting says something else than the handshake before it";
}

Purpose purpose_of(const Hello& hello) {
  const bool named = takes_part(hello.role) && !hello.takes_id;
  return {hello.role, named ? std::optional(hello.trainer) : std::nullopt};
}

// A process with the job's own token shows no more than it needs.
Grant grant_for(const Token& token, const Purpose& purpose) {
  if (token.grant.kind != Grant::Kind::job) return token.grant;
  if (purpose.role == Role::observer) return {Grant::Kind::observer, 0};
  if (purpose.role == Role::admin) return {Grant::Kind::admin, 0};
  if (purpose.trainer) return {Grant::Kind::trainer, *purpose.trainer};
  return {Grant::Kind::trainers, 0};
}

Nonce new_nonce() {
  Nonce out;
  require(
      RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size())) == 1,
      Error::Kind::io, "the system has no random numbers");
  return out;
}

std::unique_ptr<Handshake> client_handshake(const Token& token, const Purpose& purpose,
                                            const Binding& binding, const Nonce& nonce) {
  return std::make_unique<Client>(token, purpose, binding, nonce);
}

std::unique_ptr<Handshake> server_handshake(const Token& token, const Binding& binding,
                                            const Nonce& nonce) {
  return std::make_unique<Server>(token, binding, nonce);
}

std::unique_ptr<Handshake> certificate_accepted() { return std::make_unique<Accepted>(); }

std::unique_ptr<Handshake> await_acceptance() { return std::make_unique<AwaitsAcceptance>(); }

bool begins_plain(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return false;
  return std::memcmp(bytes.data(), "PSW1", 4) == 0 || std::memcmp(bytes.data(), "PSA1", 4) == 0;
}

}  // namespace paddle::wire
