#include "wire/certificate_dates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <time.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "wire/certificate_role.h"

namespace paddle::wire {
namespace {

constexpr size_t max_dated_file = 1u << 20;

double unix_time(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<double>(::timegm(&parts)) : 0;
}

}  // namespace

CertificateDates certificate_dates(const std::string& path) {
  const std::string pem = read_file(path, max_dated_file);
  const std::unique_ptr<BIO, void (*)(BIO*)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
  CertificateDates out;
  bool any = false;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    const std::unique_ptr<X509, void (*)(X509*)> one(next, X509_free);
    const double from = unix_time(X509_get0_notBefore(next)),
                 until = unix_time(X509_get0_notAfter(next));
    out.from = any ? std::max(out.from, from) : from;
    out.until = any ? std::min(out.until, until) : until;
    if (!any) out.role = role_of(*next);
    any = true;
  }
  ERR_clear_error();  // the end of the file
  require(any, Error::Kind::config, "'", path, "' holds no certificate in PEM form");
  return out;
}

}  // namespace paddle::wire
