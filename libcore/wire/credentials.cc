#include "wire/credentials.h"

namespace paddle::wire {
namespace {

Credentials read_credentials(const CredentialFiles& files, Tls::Side side) {
  Credentials out;
  if (!files.token_file.empty())
    out.token = std::make_shared<const Token>(read_token(files.token_file));
  if (!files.cert_file.empty() || !files.key_file.empty() || !files.ca_file.empty())
    out.tls = std::make_shared<Tls>(TlsFiles{files.cert_file, files.key_file, files.ca_file}, side);
  return out;
}

}  // namespace

Credentials server_credentials(const CredentialFiles& files) {
  Credentials out = read_credentials(files, Tls::Side::server);
  require(!out.token || out.token->grant.kind == Grant::Kind::job, Error::Kind::config,
          "the token file '", files.token_file, "' is for '",
          out.token ? name_of(out.token->grant) : "",
          "'; a pserver needs the job's own token, from which that one was derived");
  return out;
}

Credentials client_credentials(const CredentialFiles& files) {
  return read_credentials(files, Tls::Side::client);
}

}  // namespace paddle::wire
