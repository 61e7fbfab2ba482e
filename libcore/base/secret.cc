#include "base/secret.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace paddle {
namespace {

size_t pages(size_t size) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

// Whoever may write to a directory can put a link into it: a link leads to a secret of our own only
// where it is our own, or root's (as in the volumes of a Kubernetes Secret).
Descriptor open_secret(const std::string& path, const std::string& what) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), flags | O_NOFOLLOW));
  if (!file && errno == ELOOP) {
    struct stat link {};
    if (::lstat(path.c_str(), &link) != 0) throw io_error("open", path, errno);
    require(link.st_uid == 0 || link.st_uid == ::geteuid(), Error::Kind::config, what, " '", path,
            "' is a link that belongs to another user: name the file itself");
    file = Descriptor(::open(path.c_str(), flags));
  }
  if (!file)
    throw Error(Error::Kind::config, "cannot open ", what, " '", path, "': ", ::strerror(errno));
  return file;
}

void check_secret(int file, const std::string& path, size_t max_bytes, const std::string& what) {
  struct stat s {};
  if (::fstat(file, &s) != 0) throw io_error("look at", path, errno);
  require(S_ISREG(s.st_mode), Error::Kind::config, what, " '", path, "' is no regular file");
  require((s.st_mode & (S_IRWXO | S_IWGRP)) == 0, Error::Kind::config, what, " '", path,
          "' can be read or written by other users: run chmod 600 on it, and make a new one if "
          "others may have read it");
  require(s.st_uid == 0 || s.st_uid == ::geteuid() || ::geteuid() == 0, Error::Kind::config, what,
          " '", path, "' belongs to another user, who can read it: make one of your own");
  require(s.st_size >= 0 && static_cast<size_t>(s.st_size) <= max_bytes, Error::Kind::config, what,
          " '", path, "' has ", s.st_size, " bytes; at most ", max_bytes,
          " are read: is it the right file?");
}

}  // namespace

Secret::Secret(size_t size) : size_(size) {
  if (size == 0) return;
  void* memory =
      ::mmap(nullptr, pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw io_error("take memory for", "a key", errno);
  memory_ = static_cast<std::byte*>(memory);
  ::madvise(memory, pages(size), MADV_DONTDUMP);
  // A limit on locked memory (ulimit -l) is no reason to refuse the job.
  if (::mlock(memory, pages(size)) != 0) errno = 0;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  clear();
  memory_ = std::exchange(other.memory_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void Secret::shorten(size_t size) {
  if (size >= size_) return;
  wipe(bytes().subspan(size));
  // The pages are given back by their number: it stays the same in clear().
  Secret shorter(size);
  for (size_t i = 0; i < size; ++i) shorter.memory_[i] = memory_[i];
  *this = std::move(shorter);
}

void Secret::clear() {
  if (memory_ == nullptr) return;
  ::explicit_bzero(memory_, size_);
  ::munmap(memory_, pages(size_));
  memory_ = nullptr;
  size_ = 0;
}

void wipe(std::span<std::byte> bytes) { ::explicit_bzero(bytes.data(), bytes.size()); }

Secret read_secret_file(const std::string& path, size_t max_bytes, const std::string& what) {
  const Descriptor file = open_secret(path, what);
  check_secret(file.get(), path, max_bytes, what);
  Secret out(max_bytes + 1);
  size_t have = 0;
  while (have < out.size()) {
    const ssize_t got = ::read(file.get(), out.bytes().data() + have, out.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error("read", path, errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  require(have <= max_bytes, Error::Kind::config, what, " '", path, "' has more than ", max_bytes,
          " bytes: is it the right file?");
  out.shorten(have);
  return out;
}

void write_secret_file(const std::string& path, std::span<const std::byte> bytes, bool replace) {
  const std::string at = replace ? path + unique_suffix() : path;
  Descriptor file(::open(at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  require(file || errno != EEXIST, Error::Kind::config, "'", path,
          "' is there already, and a running job may use it: remove it first, or choose another "
          "name");
  if (!file) throw io_error("make", path, errno);
  write_all(file.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, at);
  if (file.close() != 0) throw io_error("write", at, errno);
  if (replace && ::rename(at.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(at.c_str());
    throw io_error("put in place", path, code);
  }
}

void forbid_core_dumps() { ::prctl(PR_SET_DUMPABLE, 0); }

}  // namespace paddle
