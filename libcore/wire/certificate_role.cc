#include "wire/certificate_role.h"

#include <openssl/x509v3.h>

#include <string_view>

#include "wire/token.h"

namespace paddle::wire {
namespace {

bool is_role(std::string_view word) {
  if (word == "pserver") return true;
  const auto grant = grant_named(word);
  return grant && grant->kind != Grant::Kind::job;
}

std::string_view view(const ASN1_STRING* s) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
          static_cast<size_t>(ASN1_STRING_length(s))};
}

}  // namespace

std::string role_of(const X509& certificate) {
  std::string role;
  size_t found = 0;
  const auto take = [&](std::string_view word) {
    if (!is_role(word)) return;
    ++found;
    role = word;
  };
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    const std::string_view uri = view(name->d.uniformResourceIdentifier);
    if (uri.starts_with(role_uri)) take(uri.substr(std::string_view(role_uri).size()));
  }
  GENERAL_NAMES_free(names);
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  for (int at = -1; found == 0;) {
    at =
        X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject), NID_organizationalUnitName, at);
    if (at < 0) break;
    take(view(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  return found == 1 ? role : "";
}

}  // namespace paddle::wire
