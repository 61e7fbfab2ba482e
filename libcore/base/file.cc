#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"

namespace paddle {
namespace fs = std::filesystem;
namespace {

std::string remedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT: return "free some space there or choose another directory";
    case EFBIG: return "the file size limit (ulimit -f) is too low for it";
    case EACCES:
    case EPERM: return "check its rights and those of the directories above it";
    case EROFS: return "that file system is mounted read-only, choose another directory";
    case ENOENT: return "check the spelling, and that the directory it stands in exists";
    case ENOTDIR: return "a part of that path is a file where a directory is needed";
    case EISDIR: return "that is a directory, name a file";
    case ENOTEMPTY:
    case EEXIST: return "something of that name is there already, move it away";
    case EMFILE:
    case ENFILE: return "too many files are open, raise the limit (ulimit -n)";
    case ELOOP: return "that is a symbolic link, which is not followed; move it away";
    case ENAMETOOLONG: return "choose a shorter name";
    case EIO: return "the disk or the network behind it fails, look into the system log";
    default: return "check the path and try again";
  }
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

Error io_error(std::string_view what, const std::string& path, int code) {
  return Error(Error::Kind::io, "cannot ", what, " '", path,
               "': ", std::generic_category().message(code), "; ", remedy(code));
}

std::string read_file(const std::string& path, uint64_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw io_error("open", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw io_error("look at", path, errno);
  const auto too_large = [&] {
    return Error(Error::Kind::data, "'", path, "' is larger than the ", max_bytes,
                 " bytes that such a file may have; check that this is the file you meant");
  };
  std::string contents;
  if (S_ISREG(status.st_mode)) {
    if (static_cast<uint64_t>(status.st_size) > max_bytes) throw too_large();
    contents.reserve(static_cast<size_t>(status.st_size));
  }
  char buffer[1 << 16];
  for (;;) {  // also for pipes and files in /proc, whose size is not known before
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw io_error("read", path, errno);
    if (n == 0) return contents;
    if (contents.size() + static_cast<size_t>(n) > max_bytes) throw too_large();
    contents.append(buffer, static_cast<size_t>(n));
  }
}

void write_file_atomically(const std::string& path, std::span<const std::string_view> parts) {
  const std::string temporary = path + unique_suffix();
  try {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (!file) throw io_error("create", path, errno);
    for (const std::string_view part : parts) write_all(file.get(), part, path);
    if (::fsync(file.get()) != 0) throw io_error("bring to the disk", path, errno);
    if (file.close() != 0) throw io_error("write", path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw io_error("put in place", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_path(parent_of(path), O_DIRECTORY);
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path, std::span(&contents, 1));
}

void point_link(const std::string& target, const std::string& link) {
  const std::string aside = link + unique_suffix();
  if (::symlink(target.c_str(), aside.c_str()) != 0) throw io_error("make the link", link, errno);
  if (::rename(aside.c_str(), link.c_str()) != 0) {
    const int code = errno;
    ::unlink(aside.c_str());
    throw io_error("make the link", link, code);
  }
}

Descriptor open_to_append(const std::string& path) {
  Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file) throw io_error("write to", path, errno);
  return file;
}

void make_directories(const std::string& path) {
  fs::path whole;
  for (const fs::path& part : fs::path(path)) {
    whole /= part;
    std::error_code ignored;  // mkdir says it
    if (part.empty() || fs::is_directory(whole, ignored)) continue;
    if (::mkdir(whole.c_str(), 0750) != 0 && errno != EEXIST)
      throw io_error("make the directory", path, errno);
  }
  std::error_code failure;
  if (!fs::is_directory(path, failure)) throw io_error("make the directory", path, ENOTDIR);
}

void make_writable_directory(const std::string& path) {
  make_directories(path);
  if (::access(path.c_str(), W_OK | X_OK) != 0) throw io_error("write to", path, errno);
}

void remove_tree(const std::string& parent, const std::string& name) {
  require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
              name.find('\0') == std::string::npos,
          Error::Kind::io, "refusing to remove '", name, "' below '", parent,
          "': it is not the name of one entry there");
  const fs::path whole = fs::path(parent.empty() ? "." : parent) / name;
  std::error_code failure;
  fs::remove_all(whole, failure);
  if (failure) throw io_error("remove", whole.string(), failure.value());
}

std::vector<std::string> list_directory(const std::string& path) {
  std::error_code failure;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, failure), end; !failure && entry != end;
       entry.increment(failure))
    names.push_back(entry->path().filename().string());
  if (failure) throw io_error("list", path, failure.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace paddle
