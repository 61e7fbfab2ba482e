#include "wire/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <mutex>

#include "base/file.h"
#include "base/log.h"
#include "base/secret.h"
#include "wire/certificate_role.h"
#include "wire/tls_stream.h"

namespace paddle::wire {
namespace {

constexpr size_t max_certificates = 1u << 20, max_key = 64u << 10;
constexpr auto look_period = std::chrono::seconds(1);
constexpr size_t secure_heap = 64u << 10;

template <auto free_it>
struct Freed {
  template <class T>
  void operator()(T* p) const {
    free_it(p);
  }
};
using ContextPointer = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using CertificatePointer = std::unique_ptr<X509, Freed<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using BioPointer = std::unique_ptr<BIO, Freed<BIO_free_all>>;

std::string reason() {
  const char* words = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return words ? words : "unknown reason";
}

int no_passphrase(char*, int, int, void*) { return 0; }

// Which version of a file this is.
struct Seen {
  std::array<int64_t, 4> parts{};
  bool operator==(const Seen&) const = default;
};
Seen seen(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return {};
  return {{s.st_mtim.tv_sec, s.st_mtim.tv_nsec, static_cast<int64_t>(s.st_ino), s.st_size}};
}

KeyPointer read_key(const std::string& path) {
  const Secret file = read_secret_file(path, max_key, "the key file");
  const BioPointer bio(BIO_new_mem_buf(file.bytes().data(), static_cast<int>(file.size())));
  KeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  require(key != nullptr, Error::Kind::config, "the key file '", path,
          "' holds no private key in PEM form without a passphrase (", reason(), ")");
  return key;
}

void check_own(const X509& certificate, const std::string& path, Tls::Side side) {
  require(X509_cmp_current_time(X509_get0_notAfter(&certificate)) > 0, Error::Kind::config,
          "the certificate '", path, "' has expired: make a new one (paddle certs)");
  const std::string role = role_of(certificate);
  require(!role.empty(), Error::Kind::config, "the certificate '", path,
          "' names no role: it needs the alternative name URI:", role_uri,
          "pserver (or trainer, trainer-N, observer, admin), or that word as its OU; 'paddle "
          "certs' makes such ones");
  const bool server = side == Tls::Side::server;
  require((role == "pserver") == server, Error::Kind::config, "the certificate '", path,
          "' is for '", role, "', and this process is ", server ? "" : "not ", "a pserver");
}

// Where the file of CA certificates has a list of those that were taken back (CRL), each
// certificate has to be looked up in one of its CA.
void check_revocation(SSL_CTX* context) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  const STACK_OF(X509_OBJECT)* const all = X509_STORE_get0_objects(store);
  for (int i = 0; i < sk_X509_OBJECT_num(all); ++i)
    if (X509_OBJECT_get_type(sk_X509_OBJECT_value(all, i)) == X509_LU_CRL)
      X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
}

// The first certificate is one's own, the others lead to the CA.
void load_certificates(SSL_CTX* context, const TlsFiles& files, Tls::Side side) {
  const std::string pem = read_file(files.cert_file, max_certificates);
  const BioPointer bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const CertificatePointer own(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  require(own != nullptr, Error::Kind::config, "the certificate file '", files.cert_file,
          "' holds no certificate in PEM form (", reason(), ")");
  check_own(*own, files.cert_file, side);
  require(SSL_CTX_use_certificate(context, own.get()) == 1, Error::Kind::config,
          "the certificate '", files.cert_file, "' cannot be used: ", reason());
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr))
    SSL_CTX_add0_chain_cert(context, next);
  ERR_clear_error();  // the end of the file
  const KeyPointer key = read_key(files.key_file);
  require(
      SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1,
      Error::Kind::config, "the key '", files.key_file, "' does not belong to the certificate '",
      files.cert_file, "'");
  ERR_clear_error();
  require(SSL_CTX_load_verify_file(context, files.ca_file.c_str()) == 1, Error::Kind::config,
          "the file of CA certificates '", files.ca_file, "' cannot be used: ", reason());
  check_revocation(context);
}

ContextPointer make_context(const TlsFiles& files, Tls::Side side) {
  ContextPointer out(
      SSL_CTX_new(side == Tls::Side::server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* const c = out.get();
  const bool ok = c != nullptr && SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) == 1 &&
                  SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) == 1 &&
                  SSL_CTX_set_ciphersuites(c,
                                           "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                           "TLS_CHACHA20_POLY1305_SHA256") == 1;
  require(ok, Error::Kind::io, "libssl cannot make TLS 1.3 connections: ", reason());
  SSL_CTX_set_options(c,
                      SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(c, max_server_greeting);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  load_certificates(c, files, side);
  return out;
}

}  // namespace

struct Tls::State {
  State(TlsFiles f, Side s) : files(std::move(f)), side(s) {}

  void load() {
    const auto now_seen = look();
    context = make_context(files, side);
    versions = now_seen;
  }
  std::array<Seen, 3> look() const {
    return {seen(files.cert_file), seen(files.key_file), seen(files.ca_file)};
  }
  // Under the mutex.
  void reload_if_changed() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look) return;
    next_look = now + look_period;
    const auto found = look();
    if (found == versions || found == refused) return;
    try {
      load();
      log_info("read the certificates anew, as their files have changed");
    } catch (const Error& e) {
      refused = found;
      log_warn(
          text("the files of certificates have changed and cannot be used; the old ones stay: ",
               e.what()));
    }
  }

  const TlsFiles files;
  const Side side;
  std::mutex mutex;
  ContextPointer context;
  std::array<Seen, 3> versions, refused;
  std::chrono::steady_clock::time_point next_look{};
};

Tls::Tls(TlsFiles files, Side side) {
  for (const auto& [name, value] : {std::pair{"cert_file", &files.cert_file},
                                    {"key_file", &files.key_file},
                                    {"ca_file", &files.ca_file}})
    require(!value->empty(), Error::Kind::config,
            "TLS needs --cert_file, --key_file and --ca_file; --", name, " is missing");
  // Keys are read into memory that core dumps leave out; those of connections are in the heap.
  if (CRYPTO_secure_malloc_initialized() == 0) CRYPTO_secure_malloc_init(secure_heap, 32);
  forbid_core_dumps();
  state_ = std::make_unique<State>(std::move(files), side);
  state_->load();
}

Tls::~Tls() = default;

std::unique_ptr<Stream> Tls::over(std::unique_ptr<Stream> below, const std::string& host) {
  SslPointer ssl;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->reload_if_changed();
    ssl.reset(SSL_new(state_->context.get()));
  }
  require(ssl != nullptr, Error::Kind::io, "no memory for a TLS connection");
  if (state_->side == Side::server) {
    SSL_set_accept_state(ssl.get());
    return std::make_unique<TlsStream>(std::move(below), std::move(ssl), "");
  }
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* const check = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool named = X509_VERIFY_PARAM_set1_ip_asc(check, host.c_str()) == 1 ||
                     X509_VERIFY_PARAM_set1_host(check, host.c_str(), host.size()) == 1;
  ERR_clear_error();
  require(named && !host.empty(), Error::Kind::config, "'", host, "' is no name of a pserver");
  return std::make_unique<TlsStream>(std::move(below), std::move(ssl), "pserver");
}

}  // namespace paddle::wire
