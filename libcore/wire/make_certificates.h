// Certificates for the processes of a job, and the CA that signs them.
#pragma once

#include <string>
#include <vector>

namespace paddle::wire {

struct CertificateOrder {
  std::string role;                // certificate_role.h; also the name of its files
  std::vector<std::string> hosts;  // names and addresses, of a pserver
};

struct CertificateTimes {
  int days = 365;    // that they are valid
  int from_day = 0;  // from today on; another one is for tests
};

// Writes <directory>/ca.pem and ca.key where they are not there, and <role>.pem and <role>.key for
// each order, signed by that CA, in place of older ones. Keys are readable by this user only.
// Returns the paths. Throws Error.
std::vector<std::string> make_certificates(const std::string& directory,
                                           const std::vector<CertificateOrder>& orders,
                                           const CertificateTimes& times);

// Takes a certificate of that CA back: adds it to the list of revoked ones (CRL) that follows the
// CA's certificate in <directory>/ca.pem, where Tls finds it. `certificate` is the path of its
// file, or a role, whose file is then in the directory. Returns the path. Throws Error.
std::string revoke_certificate(const std::string& directory, const std::string& certificate);

}  // namespace paddle::wire
