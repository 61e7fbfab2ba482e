#include "paddle/launch_token.h"

#include <unistd.h>

#include "wire/token.h"

namespace paddle {

LaunchToken::LaunchToken(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) write_secret_file(path_, wire::new_token_text().bytes(), true);
}

LaunchToken::~LaunchToken() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace paddle
