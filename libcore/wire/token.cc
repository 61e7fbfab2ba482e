#include "wire/token.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace paddle::wire {
namespace {

constexpr std::string_view salt = "paddle job token 1";

int hex_digit(std::byte b) {
  const char c = static_cast<char>(b);
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int base64_digit(std::byte b) {
  const char c = static_cast<char>(b);
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

// Digits of `bits` bits each; none where one of them is no digit.
std::optional<Secret> decode(std::span<const std::byte> text, int bits, int (*digit)(std::byte)) {
  Secret out(text.size() * static_cast<size_t>(bits) / 8);
  uint32_t have = 0;
  int count = 0;
  size_t at = 0;
  for (const std::byte b : text) {
    const int d = digit(b);
    if (d < 0) return {};
    have = have << bits | static_cast<uint32_t>(d);
    count += bits;
    if (count < 8) continue;
    count -= 8;
    out.bytes()[at++] = static_cast<std::byte>(have >> count & 0xff);
  }
  return out;
}

std::span<const std::byte> trimmed(std::span<const std::byte> text) {
  const auto blank = [](std::byte b) {
    return b == std::byte{' '} || b == std::byte{'\n'} || b == std::byte{'\r'} ||
           b == std::byte{'\t'};
  };
  while (!text.empty() && blank(text.front())) text = text.subspan(1);
  while (!text.empty() && blank(text.back())) text = text.first(text.size() - 1);
  return text;
}

std::span<const std::byte> without_padding(std::span<const std::byte> text) {
  while (!text.empty() && text.back() == std::byte{'='}) text = text.first(text.size() - 1);
  return text;
}

Secret token_text(std::string_view begin, std::span<const std::byte> secret) {
  constexpr const char* digits = "0123456789abcdef";
  Secret out(begin.size() + 2 * secret.size() + 1);
  std::memcpy(out.bytes().data(), begin.data(), begin.size());
  size_t at = begin.size();
  for (const std::byte b : secret) {
    const auto value = static_cast<unsigned>(b);
    out.bytes()[at++] = static_cast<std::byte>(digits[value >> 4]);
    out.bytes()[at++] = static_cast<std::byte>(digits[value & 15]);
  }
  out.bytes()[at] = std::byte{'\n'};
  return out;
}

// HKDF (RFC 5869) with SHA-256.
Secret derive(std::span<const std::byte> secret, const std::string& info) {
  Secret out(token_bytes);
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  EVP_KDF_CTX* context = kdf ? EVP_KDF_CTX_new(kdf) : nullptr;
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 5> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<std::byte*>(secret.data()),
                                        secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, const_cast<char*>(salt.data()),
                                        salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<char*>(info.data()),
                                        info.size()),
      OSSL_PARAM_construct_end()};
  const bool ok =
      context && EVP_KDF_derive(context, reinterpret_cast<unsigned char*>(out.bytes().data()),
                                out.size(), parameters.data()) == 1;
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  require(ok, Error::Kind::io, "libcrypto cannot derive keys (HKDF with SHA-256)");
  return out;
}

}  // namespace

std::string name_of(const Grant& grant) {
  switch (grant.kind) {
    case Grant::Kind::job: return "job";
    case Grant::Kind::trainers: return "trainer";
    case Grant::Kind::trainer: return text("trainer-", grant.id);
    case Grant::Kind::observer: return "observer";
    case Grant::Kind::admin: return "admin";
  }
  return "";
}

std::optional<Grant> grant_named(std::string_view name) {
  using Kind = Grant::Kind;
  for (const Kind kind : {Kind::job, Kind::trainers, Kind::observer, Kind::admin})
    if (name == name_of({kind, 0})) return Grant{kind, 0};
  constexpr std::string_view start = "trainer-";
  if (!name.starts_with(start)) return {};
  const std::string_view digits = name.substr(start.size());
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc() || end != digits.data() + digits.size() || id > 65534) return {};
  return Grant{Kind::trainer, id};
}

Token parse_token(std::span<const std::byte> file, const std::string& where) {
  Token out;
  std::span<const std::byte> rest = trimmed(file);
  const std::string_view all(reinterpret_cast<const char*>(rest.data()), rest.size());
  if (const size_t colon = all.find(':'); colon != std::string_view::npos) {
    const auto grant = grant_named(all.substr(0, colon));
    require(grant.has_value(), Error::Kind::config, where,
            " is no token: the part before its colon is no role (trainer, trainer-N, observer, "
            "admin)");
    out.grant = *grant;
    rest = trimmed(rest.subspan(colon + 1));
  }
  std::optional<Secret> secret = rest.size() % 2 == 0 ? decode(rest, 4, hex_digit) : std::nullopt;
  if (!secret) secret = decode(without_padding(rest), 6, base64_digit);
  require(secret.has_value(), Error::Kind::config, where,
          " is no token: it must be one line of hex or base64 ('paddle token --new FILE' makes "
          "one)");
  require(secret->size() >= token_bytes, Error::Kind::config, where, " holds ", secret->size(),
          " bytes; a token has at least ", token_bytes,
          " random ones ('paddle token --new FILE' makes one)");
  require(out.grant.kind == Grant::Kind::job || secret->size() == token_bytes, Error::Kind::config,
          where, " is no token: a derived one has ", token_bytes, " bytes");
  out.secret = std::move(*secret);
  return out;
}

Token read_token(const std::string& path) {
  const Secret file = read_secret_file(path, max_token_file, "the token file");
  return parse_token(file.bytes(), "the token file '" + path + "'");
}

Secret new_token_text() {
  Secret secret(token_bytes);
  require(RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.bytes().data()),
                          static_cast<int>(secret.size())) == 1,
          Error::Kind::io, "the system has no random numbers to make a token of");
  return token_text("", secret.bytes());
}

Secret derived_token_text(const Token& job, const Grant& grant) {
  return token_text(name_of(grant) + ":", key_of(job, grant).bytes());
}

Secret key_of(const Token& token, const Grant& grant) {
  if (token.grant.kind == Grant::Kind::job) return derive(token.secret.bytes(), name_of(grant));
  require(token.grant == grant, Error::Kind::config, "a token for '", name_of(token.grant),
          "' cannot stand for '", name_of(grant), "'");
  Secret out(token.secret.size());
  std::memcpy(out.bytes().data(), token.secret.bytes().data(), out.size());
  return out;
}

}  // namespace paddle::wire
