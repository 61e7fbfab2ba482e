// What a certificate says of its owner: roles that are no client's, and certificates that were
// taken back.
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <catch2/catch.hpp>

#include "base/file.h"
#include "support/quiet_log.h"
#include "wire/certificate_role.h"
#include "wire/opening.h"
#include "wire/tls_meeting.h"
#include "wire/tls_stream.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace paddle::wire::tls_test {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using File = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

File open_file(const std::string& path) { return {BIO_new_file(path.c_str(), "r"), BIO_free_all}; }

void add_extension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  REQUIRE(e != nullptr);
  REQUIRE(X509_add_ext(certificate, e, -1) == 1);
  X509_EXTENSION_free(e);
}

// As the CA of a company may make it: for servers and clients. Puts itself into the context.
void use_certificate_for_everything(SSL_CTX* context, const std::string& ca, const char* role) {
  const Key ca_key(PEM_read_bio_PrivateKey(open_file(ca + ".key").get(), nullptr, nullptr, nullptr),
                   EVP_PKEY_free),
      key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate issuer(
      PEM_read_bio_X509(open_file(ca + ".pem").get(), nullptr, nullptr, nullptr), X509_free),
      own(X509_new(), X509_free);
  REQUIRE((ca_key && key && issuer && own));
  X509_set_version(own.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(own.get()), 4711);
  X509_gmtime_adj(X509_getm_notBefore(own.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(own.get()), 3600);
  X509_set_issuer_name(own.get(), X509_get_subject_name(issuer.get()));
  X509_set_pubkey(own.get(), key.get());
  add_extension(own.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(own.get(), NID_subject_alt_name, text("URI:", role_uri, role));
  REQUIRE(X509_sign(own.get(), ca_key.get(), EVP_sha256()) > 0);
  REQUIRE(SSL_CTX_use_certificate(context, own.get()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey(context, key.get()) == 1);
}

// A process of somebody else that connects with such a certificate; whether it was let in.
bool gets_in(TlsMeeting& m, SSL_CTX* context) {
  std::unique_ptr<Stream> below;
  asio::co_spawn(
      m.io,
      [&] {
        return wire::connect({"127.0.0.1", m.listener.port()}, 5);
      },
      [&](std::exception_ptr, std::unique_ptr<Stream> s) { below = std::move(s); });
  REQUIRE(m.until([&] { return below != nullptr; }));
  SslPointer ssl(SSL_new(context));
  SSL_set_connect_state(ssl.get());
  bool done = false, in = false;
  const auto opening = Opening::start(
      std::make_unique<TlsStream>(std::move(below), std::move(ssl), "pserver"),
      [](const Binding&) { return await_acceptance(); },
      [&](Opening::Result r) {
        done = true;
        in = r.stream != nullptr;
        if (r.stream) r.stream->close();
      });
  REQUIRE(m.until([&] { return done; }));
  m.until([&] { return m.gate.waiting() == 0; });
  return in || m.server_side != nullptr;
}

}  // namespace paddle::wire::tls_test

using namespace paddle::wire::tls_test;

TEST_CASE("a pserver's certificate lets nobody in, whatever it may be used for", "[wire][tls]") {
  const QuietLog quiet;
  const auto& a = authority();
  for (const auto& [role, expected] : {std::pair{"pserver", false}, {"trainer-2", true}}) {
    INFO(role);
    const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    REQUIRE(SSL_CTX_load_verify_file(context.get(), (a.own.path() + "/ca.pem").c_str()) == 1);
    use_certificate_for_everything(context.get(), a.own.path() + "/ca", role);
    TlsMeeting m(server_of(a.of("pserver")));
    CHECK(gets_in(m, context.get()) == expected);
    if (expected) CHECK(m.proof->certificate == Grant{Grant::Kind::trainer, 2});
  }
}

TEST_CASE("a certificate that was taken back lets nobody in any more", "[wire][tls]") {
  const QuietLog quiet;
  const TemporaryDirectory d;
  const std::vector<CertificateOrder> orders{
      {"pserver", {"127.0.0.1"}}, {"trainer-1", {}}, {"trainer-2", {}}, {"observer", {}}};
  make_certificates(d.path(), orders, {});
  const auto of = [&](const char* role) { return Authority::files(d.path(), role, d.path()); };
  const auto problem = [&](const char* role) {
    TlsMeeting m(server_of(of("pserver")));
    const std::string out = m.dial(client_of(of(role)));
    CHECK((m.server_side == nullptr || out.empty()));
    return out;
  };
  CHECK(problem("trainer-1") == "");

  SECTION("at a pserver, and the others stay") {
    CHECK(revoke_certificate(d.path(), "trainer-1") == d.path() + "/trainer-1.pem");
    CHECK_THAT(problem("trainer-1"), Contains("refuses the certificate of this process"));
    CHECK(problem("trainer-2") == "");
    // A second one does not free the first.
    revoke_certificate(d.path(), d.path() + "/observer.pem");
    revoke_certificate(d.path(), d.path() + "/observer.pem");
    CHECK_THAT(problem("trainer-1"), Contains("refuses"));
    CHECK_THAT(problem("observer"), Contains("refuses"));
    CHECK(problem("trainer-2") == "");
    // And who lost one gets another.
    make_certificates(d.path(), {{"trainer-1", {}}}, {});
    CHECK(problem("trainer-1") == "");
    CHECK_THAT(problem("observer"), Contains("refuses"));
  }
  SECTION("of a pserver, at trainers") {
    revoke_certificate(d.path(), "pserver");
    CHECK_THAT(problem("trainer-1"), Contains("its certificate was revoked"));
  }
  SECTION("at a running pserver, without a restart") {
    TlsMeeting m(server_of(of("pserver")));
    REQUIRE(m.dial(client_of(of("trainer-1"))) == "");
    REQUIRE(m.until([&] { return m.server_side != nullptr; }));
    revoke_certificate(d.path(), "trainer-1");
    const CredentialFiles files = of("trainer-1");
    CHECK(m.until([&] { return m.dial(client_of(files)) != ""; }));
  }
  SECTION("only by its own CA") {
    CHECK_THROWS_WITH(revoke_certificate(d.path(), authority().own.path() + "/trainer-1.pem"),
                      Contains("was not signed by the CA"));
    CHECK_THROWS_WITH(revoke_certificate(d.path(), d.path() + "/ca.pem"),
                      Contains("was not signed by the CA"));
    CHECK_THROWS(revoke_certificate(d.path(), "nobody"));
    CHECK(problem("trainer-1") == "");
  }
}
