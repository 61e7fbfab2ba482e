#include "base/host.h"

#include <unistd.h>

namespace paddle {

std::string host_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string this_process() { return host_name() + ":" + std::to_string(::getpid()); }

}  // namespace paddle
