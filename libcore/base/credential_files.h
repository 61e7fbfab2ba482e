// Where a process has what it proves itself with; "" where it has none.
#pragma once

#include <string>

namespace paddle {

struct CredentialFiles {
  std::string token_file, cert_file, key_file, ca_file;
};

}  // namespace paddle
