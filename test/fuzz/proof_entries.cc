#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "fuzz/entries.h"
#include "wire/handshake.h"

namespace paddle::fuzz {
namespace {

void must(bool ok) {
  if (!ok) std::abort();
}

wire::Token fixed_token() {
  const std::string text(64, '5');
  return wire::parse_token(std::as_bytes(std::span(text)), "the fuzzer");
}

wire::Nonce fixed_nonce(int value) {
  wire::Nonce out;
  out.fill(static_cast<std::byte>(value));
  return out;
}

// Hands over as much as it wants at a time; true where it was satisfied.
bool talk(wire::Handshake& side, std::span<const std::byte> bytes) {
  while (const size_t wants = side.wants()) {
    must(wants <= 4096);
    if (bytes.size() < wants) return false;
    must(side.take(bytes.first(wants)).size() <= 4096);
    bytes = bytes.subspan(wants);
  }
  return true;
}

}  // namespace

bool token_file(std::string_view input) {
  try {
    const auto bytes = std::as_bytes(std::span(input));
    const wire::Token token = wire::parse_token(bytes, "the input");
    must(token.secret.size() >= wire::token_bytes && token.secret.size() <= input.size());
    if (token.grant.kind != wire::Grant::Kind::job) return true;
    // What is derived from it can be read again, and is the same key.
    const wire::Grant grant{wire::Grant::Kind::trainer, 7};
    const Secret text = wire::derived_token_text(token, grant);
    const wire::Token again = wire::parse_token(text.bytes(), "the derived one");
    const Secret key = wire::key_of(token, grant);
    must(again.grant == grant && again.secret.size() == key.size() &&
         std::memcmp(again.secret.bytes().data(), key.bytes().data(), key.size()) == 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The first byte says which side gets the rest.
bool handshake(std::string_view input) {
  if (input.empty()) return false;
  const wire::Token token = fixed_token();
  const auto rest = std::as_bytes(std::span(input)).subspan(1);
  const bool to_server = input[0] % 2 == 0;
  try {
    const auto side =
        to_server ? wire::server_handshake(token, {}, fixed_nonce(1))
                  : wire::client_handshake(token, {wire::Role::trainer, 2}, {}, fixed_nonce(2));
    if (!talk(*side, rest)) return false;
    if (to_server) wire::refusal_of(side->proof(), wire::Hello{});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace paddle::fuzz
