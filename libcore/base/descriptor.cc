#include "base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "base/random.h"

namespace paddle {

int Descriptor::close() {
  const int number = std::exchange(number_, -1);
  return number < 0 ? 0 : ::close(number);
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw io_error("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void sync_path(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!file) throw io_error("open", path, errno);
  // EINVAL: a file system that has nothing to bring anywhere, as some network ones for directories.
  if (::fsync(file.get()) != 0 && errno != EINVAL) throw io_error("bring to the disk", path, errno);
}

// The process id alone would not do: in a container it is 1 again after every restart.
std::string unique_suffix() {
  static std::atomic<uint64_t> count = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t bits = mix64(mix64(static_cast<uint64_t>(now)) ^
                              (static_cast<uint64_t>(::getpid()) << 32 | ++count));
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(bits));
  return std::string(".tmp-") + digits;
}

}  // namespace paddle
