// Reading binary files that may be damaged or hostile: every read is checked against what is left,
// and every complaint names the file and the offset.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace paddle {

class BinaryReader {
 public:
  // Bytes in memory, which the caller keeps alive; `name` is what errors call them.
  BinaryReader(std::string_view memory, std::string name);
  // A regular file. Throws Error(io) where it cannot be opened.
  explicit BinaryReader(const std::string& path);

  const std::string& name() const { return name_; }
  uint64_t offset() const { return offset_; }
  uint64_t left() const { return size_ - offset_; }

  // Exactly `n` bytes, or Error(data) that names what they are a part of.
  void read(void* to, uint64_t n, std::string_view what);
  std::string bytes(uint64_t n, std::string_view what);
  template <class T>
  T number(std::string_view what) {
    T value{};
    read(&value, sizeof value, what);
    return value;
  }
  // Throws Error(data) unless everything has been read.
  void expect_end(std::string_view after);

  // Error(data): "'path', offset 12: …".
  template <class... Parts>
  [[noreturn]] void fail(uint64_t offset, const Parts&... parts) const {
    throw Error(Error::Kind::data, "'", name_, "', offset ", offset, ": ", parts...);
  }

  // What the first bytes look like ("a gzip archive", "text", …), or "" where nothing is known.
  const std::string& kind() const { return kind_; }

 private:
  void look();

  std::string name_, kind_;
  std::string_view memory_;
  std::unique_ptr<std::ifstream> file_;
  uint64_t size_ = 0, offset_ = 0;
};

}  // namespace paddle
