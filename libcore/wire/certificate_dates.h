// For how long the certificates of a file are valid.
#pragma once

#include <string>

namespace paddle::wire {

struct CertificateDates {
  double from = 0, until = 0;  // seconds since 1970: all certificates of the file are valid between
  std::string role;            // role_of() the first one
};

// Throws Error(config) where the file holds no certificate in PEM form, Error(io) where there is
// none.
CertificateDates certificate_dates(const std::string& path);

}  // namespace paddle::wire
