#include "paddle/result_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"

namespace paddle {

ResultFile::ResultFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  require(!is_directory(path), Error::Kind::io, "cannot write '", path, "': it is a directory");
  file_ = std::fopen(unfinished().c_str(), "wb");
  if (!file_) throw io_error("write", path_, errno);
}

ResultFile::~ResultFile() {
  if (!file_) return;
  std::fclose(file_);
  std::error_code ignored;
  std::filesystem::remove(unfinished(), ignored);
}

void ResultFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream()) != bytes.size())
    throw io_error("write", name(), errno);
}

void ResultFile::finish() {
  if (std::fflush(stream()) != 0) throw io_error("write", name(), errno);
  if (!file_) return;
  if (::fsync(::fileno(file_)) != 0) throw io_error("write", name(), errno);
  std::FILE* file = file_;
  file_ = nullptr;
  std::fclose(file);
  if (std::rename(unfinished().c_str(), path_.c_str()) != 0)
    throw io_error("put in place", path_, errno);
}

}  // namespace paddle
