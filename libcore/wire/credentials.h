// What a process proves itself with, and asks others for: a job's token, certificates, both or
// nothing.
#pragma once

#include <memory>

#include "base/credential_files.h"
#include "wire/handshake.h"
#include "wire/tls.h"

namespace paddle::wire {

// Shared by the connections of a process.
struct Credentials {
  std::shared_ptr<const Token> token;
  std::shared_ptr<Tls> tls;

  explicit operator bool() const { return token || tls; }
};

// Read the files that are named. Throws Error(config). A pserver needs the job's own token.
Credentials server_credentials(const CredentialFiles& files);
Credentials client_credentials(const CredentialFiles& files);

}  // namespace paddle::wire
