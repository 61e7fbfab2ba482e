// Proving a job's token, before the first message of a connection (schemas/README.md has the
// bytes). Both sides prove that they know the key of a grant, by an HMAC over what both have said:
// nothing of it can be used again on another connection, in the other direction or for another
// purpose. Here are the two sides as plain values; opening.h moves their bytes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "wire/binding.h"
#include "wire/messages.h"
#include "wire/token.h"

namespace paddle::wire {

// What a connection is for. Its Hello must say the same.
struct Purpose {
  Role role = Role::observer;
  std::optional<uint32_t> trainer;  // none: no trainer, or one whose id the pserver chooses
};

// What the other side of a connection has proven. A pserver without token and certificates leaves
// everybody everything.
struct Proof {
  Grant grant;
  std::optional<Purpose> purpose;    // by token
  std::optional<Grant> certificate;  // by TLS
};

Purpose purpose_of(const Hello& hello);

// "" where the proof covers a greeting; else why not.
std::string refusal_of(const Proof& proof, const Hello& hello);

// The grant by which a process with this token connects.
Grant grant_for(const Token& token, const Purpose& purpose);

using Nonce = std::array<std::byte, 32>;
Nonce new_nonce();

// One side: bytes come in as many at a time as it wants, others are to be sent.
class Handshake {
 public:
  virtual ~Handshake() = default;
  virtual size_t wants() const = 0;  // 0: done
  // What is to be sent then. Throws Error: config where waiting does not help, else peer.
  virtual std::vector<std::byte> take(std::span<const std::byte> bytes) = 0;
  // What is sent before anything comes in.
  virtual std::vector<std::byte> first() const { return {}; }
  // What the other side has proven, once done.
  virtual Proof proof() const { return {}; }
};

inline constexpr size_t client_hello_bytes = 56, server_proof_bytes = 64, client_proof_bytes = 32;

// `token` outlives them.
std::unique_ptr<Handshake> client_handshake(const Token& token, const Purpose& purpose,
                                            const Binding& binding, const Nonce& nonce);
std::unique_ptr<Handshake> server_handshake(const Token& token, const Binding& binding,
                                            const Nonce& nonce);

// Where TLS alone is used: the pserver says that it accepts the certificate, so that the client
// learns of a refusal before it greets.
std::unique_ptr<Handshake> certificate_accepted();
std::unique_ptr<Handshake> await_acceptance();

// Thrown by a server for a peer that begins with a frame: it has no token, or no certificate.
class PlainPeer : public Error {
 public:
  using Error::Error;
};

// Whether these are the first bytes of a frame, or of a handshake: somebody who does not use TLS.
bool begins_plain(std::span<const std::byte> bytes);

}  // namespace paddle::wire
