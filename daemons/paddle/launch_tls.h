// The certificates of a job that `paddle launch` starts.
#pragma once

#include <string>
#include <vector>

#include "base/credential_files.h"

namespace paddle {

// Flags for a process with this role; none where `directory` is "".
std::vector<std::string> certificate_flags(const std::string& directory, const std::string& role);

// Those with which launch looks at its pservers.
CredentialFiles observer_files(const std::string& directory);

// A directory with certificates for the processes of one machine, as `paddle certs` makes it, which
// is removed with this. The key of their CA exists only while they are made. "" makes none.
class LaunchCertificates {
 public:
  explicit LaunchCertificates(std::string directory);
  ~LaunchCertificates();
  LaunchCertificates(const LaunchCertificates&) = delete;
  LaunchCertificates& operator=(const LaunchCertificates&) = delete;

 private:
  const std::string directory_;
};

}  // namespace paddle
