// A file descriptor that closes itself, and the few calls on it that file.cc and
// atomic_directory.cc share.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace paddle {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  // The caller closes it.
  int release() { return std::exchange(number_, -1); }
  // 0, or -1 with errno: some file systems report a failed write only here.
  int close();

 private:
  int number_ = -1;
};

// All of `bytes`, or Error(io) that names `path`.
void write_all(int descriptor, std::string_view bytes, const std::string& path);

// Brings a file, or with O_DIRECTORY the entries of a directory, to the disk.
void sync_path(const std::string& path, int flags);

// ".tmp-<16 digits>", different at every call in every process.
std::string unique_suffix();

}  // namespace paddle
