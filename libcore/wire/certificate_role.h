// What a certificate allows its owner.
#pragma once

#include <openssl/x509.h>

#include <string>

namespace paddle::wire {

inline constexpr const char* role_uri = "urn:paddle:";  // in front of the role, in a certificate

// "pserver", "trainer", "trainer-3", "observer" or "admin": the alternative name
// "URI:urn:paddle:…", or the organizational unit (OU) where there is none. "" where it names none
// of these, or several.
std::string role_of(const X509& certificate);

}  // namespace paddle::wire
