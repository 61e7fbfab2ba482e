#include "wire/tls_error.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "base/error.h"

namespace paddle::wire {
namespace {

class TlsCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "TLS"; }
  std::string message(int code) const override {
    switch (static_cast<TlsProblem>(code)) {
      case TlsProblem::plain:
        return "it does not use TLS: start it with --cert_file, --key_file and --ca_file";
      case TlsProblem::too_much:
        return "its TLS greeting is too long: with all certificates a client's must fit in 4 KiB, "
               "a "
               "pserver's in 16 KiB (those of 'paddle certs' take 2 KiB)";
      case TlsProblem::no_role:
        return "its certificate names no role ('paddle certs' makes certificates that do)";
      case TlsProblem::no_pserver: return "its certificate is not that of a pserver";
      case TlsProblem::no_client:
        return "its certificate is that of a pserver: processes that connect need one of their own";
      case TlsProblem::broken: return "it does not keep to TLS 1.3";
      case TlsProblem::no_cert: return "it shows no certificate";
      case TlsProblem::refused:
        return "it refuses the certificate of this process: see its log; both sides need "
               "certificates of the same --ca_file that are valid now";
    }
    return "TLS failed";
  }
};

class CertificateCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "certificate"; }
  std::string message(int code) const override {
    switch (code) {
      case X509_V_ERR_CERT_HAS_EXPIRED: return "its certificate has expired";
      case X509_V_ERR_CERT_REVOKED:
        return "its certificate was revoked: make a new one (paddle certs)";
      case X509_V_ERR_CERT_NOT_YET_VALID:
        return "its certificate is not valid yet (are the clocks right?)";
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "its certificate is for another name or address: make one with the name that is "
               "in --pservers (paddle certs --hosts=...)";
      default:
        return text("its certificate is not accepted: ", X509_verify_cert_error_string(code),
                    " (is it signed by --ca_file?)");
    }
  }
};

const TlsCategory tls_category;
const CertificateCategory certificate_category;

// Alerts that say "your certificate": numbers of RFC 8446, as OpenSSL's reasons (1000 + alert).
bool alert_about_certificate(int reason) {
  const int alert = reason - SSL_AD_REASON_OFFSET;
  return (alert >= 42 && alert <= 46) || alert == SSL_AD_UNKNOWN_CA ||
         alert == SSL_AD_CERTIFICATE_REQUIRED || alert == SSL_AD_ACCESS_DENIED;
}

}  // namespace

std::error_code tls_error(TlsProblem problem) { return {static_cast<int>(problem), tls_category}; }

bool is_plain(const std::error_code& error) { return error == tls_error(TlsProblem::plain); }

bool is_transient(const std::error_code& error) {
  return error.category() != tls_category && error.category() != certificate_category;
}

std::error_code last_tls_error(const SSL* ssl) {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const long verified = SSL_get_verify_result(ssl);
  const int reason = ERR_GET_REASON(code);
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return tls_error(TlsProblem::no_cert);
  if (verified != X509_V_OK) return {static_cast<int>(verified), certificate_category};
  if (alert_about_certificate(reason)) return tls_error(TlsProblem::refused);
  return tls_error(TlsProblem::broken);
}

}  // namespace paddle::wire
