// Job tokens: a random secret of a job that its processes prove to each other. From the job's own
// token others are derived that allow less; the pservers need the job's own one only.
// docs/security.md says what they protect, schemas/README.md describes the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace paddle::wire {

// What a process may do.
struct Grant {
  enum class Kind : uint8_t {
    job = 1,   // everything: the job's own token
    trainers,  // be any trainer
    trainer,   // be the trainer `id`
    observer,  // see the status
    admin,     // see the status, ask for snapshots and stop the pservers
  };
  Kind kind = Kind::job;
  uint32_t id = 0;  // of Kind::trainer, else 0

  bool operator==(const Grant&) const = default;
};

// "job", "trainer", "trainer-3", "observer", "admin".
std::string name_of(const Grant& grant);
std::optional<Grant> grant_named(std::string_view name);

struct Token {
  Grant grant;
  Secret secret;
};

inline constexpr size_t max_token_file = 4096;  // bytes
inline constexpr size_t token_bytes = 32;       // at least, and of those that are made here

// The text of a token file: at least 32 bytes in hex or base64, after "observer:" or the like where
// it was derived. Throws Error(config) that names `where` and never quotes the text.
Token parse_token(std::span<const std::byte> text, const std::string& where);
Token read_token(const std::string& path);

// A new token of a job, and one derived from it, as the text of a file.
Secret new_token_text();
Secret derived_token_text(const Token& job, const Grant& grant);

// The key that proves `grant`: derived from a job's token, or the token itself where it is for just
// that. Throws Error(config) where it allows less.
Secret key_of(const Token& token, const Grant& grant);

}  // namespace paddle::wire
