#include "pserver/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace paddle {
namespace {

constexpr size_t piece = size_t{8} << 20;  // of one write
constexpr size_t block = 4096;  // what O_DIRECT wants addresses and lengths to be aligned to
constexpr int write_flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

}  // namespace

DirectFile::DirectFile(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), write_flags | O_DIRECT, 0640)) {
  if (!file_ && errno == EINVAL) {  // a file system in memory, or over the network
    direct_ = false;
    file_ = Descriptor(::open(path_.c_str(), write_flags, 0640));
  }
  if (!file_) throw io_error("create", path_, errno);
  buffer_ = new_buffer();
}

DirectFile::Buffer DirectFile::new_buffer() const {
  void* memory = nullptr;
  const int failed = ::posix_memalign(&memory, block, piece);
  if (failed != 0) throw io_error("take memory to write", path_, failed);
  return Buffer(static_cast<std::byte*>(memory));
}

void DirectFile::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t take = std::min(bytes.size(), piece - filled_);
    std::memcpy(buffer_.get() + filled_, bytes.data(), take);
    filled_ += take;
    bytes = bytes.subspan(take);
    if (filled_ == piece) begin_write(piece);
  }
}

void DirectFile::begin_write(size_t bytes) {
  end_write();
  if (!leaving_) leaving_ = new_buffer();
  std::swap(buffer_, leaving_);
  filled_ = 0;
  try {
    writing_ = std::async(std::launch::async, [this, bytes] { write_piece(bytes); });
  } catch (const std::system_error&) {  // no more threads
    write_piece(bytes);
  }
}

void DirectFile::end_write() {
  if (writing_.valid()) writing_.get();  // throws what the write has thrown
}

// Some file systems accept O_DIRECT and refuse the first write.
void DirectFile::write_piece(size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t n =
        ::pwrite(file_.get(), leaving_.get() + at, bytes - at, static_cast<off_t>(written_ + at));
    if (n > 0) at += static_cast<size_t>(n);
    // What is left of a piece after a part of a block was written is no longer aligned.
    const bool unaligned = n > 0 && at < bytes && at % block != 0;
    if (direct_ && (unaligned || (n < 0 && errno == EINVAL))) {
      const int flags = ::fcntl(file_.get(), F_GETFL);
      if (::fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT) != 0)
        throw io_error("write", path_, errno);
      direct_ = false;
      continue;
    }
    if (n < 0 && errno != EINTR) throw io_error("write", path_, errno);
  }
  written_ += bytes;
}

// The last block is filled up and cut off again.
void DirectFile::finish() {
  end_write();
  const uint64_t size = written_ + filled_;
  const size_t whole = direct_ ? (filled_ + block - 1) / block * block : filled_;
  std::memset(buffer_.get() + filled_, 0, whole - filled_);
  std::swap(buffer_, leaving_);
  if (whole > 0) write_piece(whole);
  if (written_ != size && ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    throw io_error("write", path_, errno);
  if (file_.close() != 0) throw io_error("write", path_, errno);
  buffer_.reset();
  leaving_.reset();
}

}  // namespace paddle
