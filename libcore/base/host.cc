#include "base/host.h"

#include <sys/resource.h>
#include <unistd.h>

namespace paddle {

std::string host_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string this_process() { return host_name() + ":" + std::to_string(::getpid()); }

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where it fails, the old limit stays
}

}  // namespace paddle
