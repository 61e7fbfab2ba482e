#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/descriptor.h"
#include "base/file.h"

namespace paddle {
namespace fs = std::filesystem;

AtomicDirectory::AtomicDirectory(const std::string& path) {
  fs::path whole = fs::path(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  parent_ = whole.parent_path().empty() ? "." : whole.parent_path().string();
  name_ = whole.filename().string();
  path_ = whole.string();
  require(!name_.empty() && name_ != "." && name_ != "..", Error::Kind::config, "'", path,
          "' cannot be replaced as a whole; name a directory inside it");
  make_directories(parent_);
  remove_abandoned();
  temporary_ = path_ + unique_suffix();
  if (::mkdir(temporary_.c_str(), 0750) != 0) throw io_error("make the directory", path_, errno);
  lock_ = ::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
}

AtomicDirectory::~AtomicDirectory() {
  if (!committed_) {
    std::error_code ignored;  // a destructor cannot report it; the next writer tries again
    fs::remove_all(temporary_, ignored);
  }
  if (lock_ >= 0) ::close(lock_);
}

void AtomicDirectory::write(const std::string& name, std::span<const std::string_view> parts) {
  const std::string path = temporary_ + "/" + name, shown = path_ + "/" + name;
  require(!name.empty() && name[0] != '/' && *fs::path(name).lexically_normal().begin() != "..",
          Error::Kind::io, "'", name, "' is not a name inside '", path_, "'");
  if (const fs::path below = fs::path(name).parent_path(); !below.empty())
    make_directories(temporary_ + "/" + below.string());
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!file) throw io_error("create", shown, errno);
  for (const std::string_view part : parts) write_all(file.get(), part, shown);
  if (file.close() != 0) throw io_error("write", shown, errno);
}

void AtomicDirectory::write(const std::string& name, std::string_view contents) {
  write(name, std::span(&contents, 1));
}

void AtomicDirectory::commit(std::string_view done) {
  std::error_code failure;
  for (fs::recursive_directory_iterator entry(temporary_, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->is_regular_file(failure)) sync_path(entry->path().string(), 0);
    if (entry->is_directory(failure)) sync_path(entry->path().string(), O_DIRECTORY);
  }
  if (failure) throw io_error("list", temporary_, failure.value());
  write("done", done);
  sync_path(temporary_ + "/done", 0);
  sync_path(temporary_, O_DIRECTORY);
  put_in_place();
  sync_path(parent_, O_DIRECTORY);
}

// A directory with something in it cannot be renamed over. Exchanging both leaves no instant
// without a good one; where the file system cannot exchange, the old one steps aside first.
void AtomicDirectory::put_in_place() {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      throw io_error("put in place", path_, errno);
    committed_ = true;
    return;
  }
  if (!S_ISDIR(status.st_mode)) throw io_error("put in place", path_, EEXIST);
  std::string old = temporary_;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
    old = path_ + ".old";  // not a temporary name: after a crash here it holds the only good copy
    remove_tree(parent_, name_ + ".old");
    if (::rename(path_.c_str(), old.c_str()) != 0) throw io_error("move away", path_, errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int code = errno;
      ::rename(old.c_str(), path_.c_str());
      throw io_error("put in place", path_, code);
    }
  }
  committed_ = true;
  remove_tree(parent_, fs::path(old).filename().string());
}

// No process holds the lock of a killed writer's directory.
void AtomicDirectory::remove_abandoned() {
  const std::string start = name_ + ".tmp-";
  for (const std::string& entry : list_directory(parent_)) {
    if (entry.compare(0, start.size(), start) != 0) continue;
    const std::string whole = parent_ + "/" + entry;
    const Descriptor directory(
        ::open(whole.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (directory && ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(parent_, entry);
  }
}

}  // namespace paddle
