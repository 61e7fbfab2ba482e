// What went wrong in TLS, as error codes with sentences.
#pragma once

#include <openssl/ssl.h>

#include <string>
#include <system_error>

namespace paddle::wire {

enum class TlsProblem {
  plain = 1,   // the other side does not use TLS
  too_much,    // it sends more than a greeting needs
  no_role,     // its certificate names no role
  no_pserver,  // its certificate is not that of a pserver
  broken,      // it does not keep to TLS, or uses no version of it that we take
  no_cert,     // it shows no certificate
  refused,     // it refused our certificate
  no_client,   // its certificate is that of a pserver, and it connects to one
};
std::error_code tls_error(TlsProblem problem);
// Whether the other side does not use TLS.
bool is_plain(const std::error_code& error);
// Whether another try may help: everything but a matter of certificates and versions.
bool is_transient(const std::error_code& error);

// Why the last call on `ssl` failed: the certificate's problem, or TLS's.
std::error_code last_tls_error(const SSL* ssl);

}  // namespace paddle::wire
