#include "wire/make_certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "base/secret.h"
#include "wire/certificate_role.h"

namespace paddle::wire {
namespace {

constexpr int ca_days = 3650;
constexpr size_t max_pem = 1u << 20;

struct FreeKey {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
struct FreeCertificate {
  void operator()(X509* p) const { X509_free(p); }
};
struct FreeBio {
  void operator()(BIO* p) const { BIO_free_all(p); }
};
using OwnKey = std::unique_ptr<EVP_PKEY, FreeKey>;
using OwnCertificate = std::unique_ptr<X509, FreeCertificate>;
using OwnBio = std::unique_ptr<BIO, FreeBio>;

struct FreeList {
  void operator()(X509_CRL* p) const { X509_CRL_free(p); }
};
using OwnList = std::unique_ptr<X509_CRL, FreeList>;

struct Pair {
  OwnCertificate certificate;
  OwnKey key;
};

void check(bool ok, const char* what) {
  if (ok) return;
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  throw Error(Error::Kind::config, "cannot ", what, ": ", reason ? reason : "unknown reason");
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  check(e != nullptr && X509_add_ext(certificate, e, -1) == 1,
        "write an extension of a certificate");
  X509_EXTENSION_free(e);
}

OwnCertificate begin(EVP_PKEY* key, const std::string& name, int from_day, int days) {
  OwnCertificate c(X509_new());
  check(c != nullptr && X509_set_version(c.get(), X509_VERSION_3) == 1, "make a certificate");
  BIGNUM* serial = BN_new();
  check(BN_rand(serial, 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
            BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(c.get())) != nullptr,
        "number a certificate");
  BN_free(serial);
  // Begins an hour ago: the clocks of a cluster differ.
  X509_time_adj_ex(X509_getm_notBefore(c.get()), from_day, -3600, nullptr);
  X509_time_adj_ex(X509_getm_notAfter(c.get()), from_day + days, 0, nullptr);
  X509_NAME* subject = X509_get_subject_name(c.get());
  check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                   0) == 1 &&
            X509_set_pubkey(c.get(), key) == 1,
        "name a certificate");
  return c;
}

Pair make_ca() {
  Pair out{nullptr, OwnKey(EVP_EC_gen("P-256"))};
  check(out.key != nullptr, "make a key");
  out.certificate = begin(out.key.get(), "paddle job CA", 0, ca_days);
  X509* const c = out.certificate.get();
  check(X509_set_issuer_name(c, X509_get_subject_name(c)) == 1, "name the CA");
  extend(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(c, c, NID_subject_key_identifier, "hash");
  check(X509_sign(c, out.key.get(), EVP_sha256()) > 0, "sign the CA");
  return out;
}

// "URI:urn:paddle:pserver,DNS:ps0,IP:10.0.0.1"
std::string names_of(const CertificateOrder& order) {
  std::string out = text("URI:", role_uri, order.role);
  for (const std::string& host : order.hosts) {
    require(!host.empty() && host.find_first_of(", \t\n;@") == std::string::npos,
            Error::Kind::config, "'", host, "' is no host name or address");
    ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str());
    out += (address ? ",IP:" : ",DNS:") + host;
    ASN1_OCTET_STRING_free(address);
  }
  ERR_clear_error();
  return out;
}

Pair make_leaf(const Pair& ca, const CertificateOrder& order, const CertificateTimes& times) {
  Pair out{nullptr, OwnKey(EVP_EC_gen("P-256"))};
  check(out.key != nullptr, "make a key");
  out.certificate = begin(out.key.get(), "paddle " + order.role, times.from_day, times.days);
  X509* const c = out.certificate.get();
  check(X509_set_issuer_name(c, X509_get_subject_name(ca.certificate.get())) == 1,
        "name the issuer");
  extend(c, ca.certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  extend(c, ca.certificate.get(), NID_key_usage, "critical,digitalSignature");
  extend(c, ca.certificate.get(), NID_ext_key_usage,
         order.role == "pserver" ? "serverAuth" : "clientAuth");
  extend(c, ca.certificate.get(), NID_authority_key_identifier, "keyid");
  extend(c, ca.certificate.get(), NID_subject_alt_name, names_of(order));
  check(X509_sign(c, ca.key.get(), EVP_sha256()) > 0, "sign a certificate");
  return out;
}

std::span<const std::byte> bytes_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {reinterpret_cast<const std::byte*>(data), static_cast<size_t>(size)};
}

void write_pair(const std::string& start, const Pair& pair, bool replace) {
  const OwnBio key(BIO_new(BIO_s_secmem())), certificate(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr,
                                 nullptr) == 1 &&
            PEM_write_bio_X509(certificate.get(), pair.certificate.get()) == 1,
        "write a certificate");
  write_secret_file(start + ".key", bytes_of(key.get()), replace);
  const auto pem = bytes_of(certificate.get());
  write_file_atomically(start + ".pem",
                        std::string_view(reinterpret_cast<const char*>(pem.data()), pem.size()));
}

Pair read_ca(const std::string& start) {
  const Secret file = read_secret_file(start + ".key", max_pem, "the key of the CA");
  const OwnBio key(BIO_new_mem_buf(file.bytes().data(), static_cast<int>(file.size())));
  const std::string pem = read_file(start + ".pem", max_pem);
  const OwnBio certificate(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Pair out{OwnCertificate(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr)),
           OwnKey(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr))};
  check(out.certificate && out.key &&
            X509_check_private_key(out.certificate.get(), out.key.get()) == 1,
        "use the CA that is there");
  return out;
}

OwnCertificate read_certificate(const std::string& path) {
  const std::string pem = read_file(path, max_pem);
  const OwnBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  OwnCertificate out(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  check(out != nullptr, ("read the certificate '" + path + "'").c_str());
  return out;
}

// The one that is in the CA's file, or a new one.
OwnList revoked_so_far(const std::string& pem, const X509& ca) {
  const OwnBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  OwnList out(PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();  // the end of the file
  if (out) return out;
  out.reset(X509_CRL_new());
  check(out && X509_CRL_set_version(out.get(), X509_CRL_VERSION_2) == 1 &&
            X509_CRL_set_issuer_name(out.get(), X509_get_subject_name(&ca)) == 1,
        "begin a list of revoked certificates");
  return out;
}

// Valid as long as the CA, so that it need not be renewed while nothing else is revoked.
void sign_list(X509_CRL* list, const Pair& ca) {
  ASN1_TIME* const from = X509_gmtime_adj(nullptr, -3600);
  const bool ok = from && X509_CRL_set1_lastUpdate(list, from) == 1 &&
                  X509_CRL_set1_nextUpdate(list, X509_get0_notAfter(ca.certificate.get())) == 1 &&
                  X509_CRL_sort(list) == 1 && X509_CRL_sign(list, ca.key.get(), EVP_sha256()) > 0;
  ASN1_TIME_free(from);
  check(ok, "sign the list of revoked certificates");
}

void add_to_list(X509_CRL* list, X509& certificate) {
  X509_REVOKED* found = nullptr;
  if (X509_CRL_get0_by_cert(list, &found, &certificate) == 1) return;
  X509_REVOKED* const entry = X509_REVOKED_new();
  ASN1_TIME* const now = X509_gmtime_adj(nullptr, 0);
  const bool ok = entry && now &&
                  X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(&certificate)) == 1 &&
                  X509_REVOKED_set_revocationDate(entry, now) == 1 &&
                  X509_CRL_add0_revoked(list, entry) == 1;
  ASN1_TIME_free(now);
  check(ok, "revoke the certificate");
}

}  // namespace

std::string revoke_certificate(const std::string& directory, const std::string& certificate) {
  const bool is_path = certificate.find('/') != std::string::npos || certificate.ends_with(".pem");
  const std::string path = is_path ? certificate : directory + "/" + certificate + ".pem";
  const Pair ca = read_ca(directory + "/ca");
  const OwnCertificate revoked = read_certificate(path);
  require(X509_verify(revoked.get(), ca.key.get()) == 1 &&
              X509_cmp(revoked.get(), ca.certificate.get()) != 0,
          Error::Kind::config, "'", path, "' was not signed by the CA in '", directory, "'");
  ERR_clear_error();
  std::string pem = read_file(directory + "/ca.pem", max_pem);
  const OwnList list = revoked_so_far(pem, *ca.certificate);
  add_to_list(list.get(), *revoked);
  sign_list(list.get(), ca);
  const OwnBio out(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_X509_CRL(out.get(), list.get()) == 1, "write the list");
  pem.resize(std::min(pem.size(), pem.find("-----BEGIN X509 CRL-----")));
  const auto bytes = bytes_of(out.get());
  pem.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  write_file_atomically(directory + "/ca.pem", pem);
  return path;
}

std::vector<std::string> make_certificates(const std::string& directory,
                                           const std::vector<CertificateOrder>& orders,
                                           const CertificateTimes& times) {
  make_directories(directory);
  const std::string ca_start = directory + "/ca";
  std::vector<std::string> made;
  const bool there = is_file(ca_start + ".key");
  if (!there) {
    write_pair(ca_start, make_ca(), false);
    made = {ca_start + ".pem", ca_start + ".key"};
  }
  const Pair ca = read_ca(ca_start);
  for (const CertificateOrder& order : orders) {
    const std::string start = directory + "/" + order.role;
    write_pair(start, make_leaf(ca, order, times), true);
    made.push_back(start + ".pem");
    made.push_back(start + ".key");
  }
  return made;
}

}  // namespace paddle::wire
