// A file that is written once, from its beginning to its end, in large pieces and past the page
// cache where the file system allows that: a snapshot is read again only after a crash, and must
// not push out what the machine needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace paddle {

class DirectFile {
 public:
  // Makes it anew. Throws Error(io), as all the others.
  explicit DirectFile(std::string path);
  void add(std::span<const std::byte> bytes);
  // Writes the rest and closes it; nothing is added any more.
  void finish();

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  void write_piece(size_t bytes);

  const std::string path_;
  Descriptor file_;
  bool direct_ = true;
  std::unique_ptr<std::byte, Free> buffer_;  // aligned
  size_t filled_ = 0;
  uint64_t written_ = 0;
};

}  // namespace paddle
