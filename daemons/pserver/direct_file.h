// A file that is written once, from its beginning to its end, in large pieces and past the page
// cache where the file system allows that: a snapshot is read again only after a crash, and must
// not push out what the machine needs. While a piece is written the next one is put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
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
  using Buffer = std::unique_ptr<std::byte, Free>;  // aligned
  Buffer new_buffer() const;
  void begin_write(size_t bytes);
  void end_write();
  void write_piece(size_t bytes);

  const std::string path_;
  Descriptor file_;
  bool direct_ = true;
  Buffer buffer_, leaving_;  // what is put together; what is being written, made when first needed
  size_t filled_ = 0;
  uint64_t written_ = 0;       // with what is being written
  std::future<void> writing_;  // last: the end of it uses the others
};

}  // namespace paddle
