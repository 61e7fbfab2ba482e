// A file to be written, as pieces: small ones are kept here, large ones stay where they are.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paddle {

class FileParts {
 public:
  FileParts() = default;
  FileParts(FileParts&&) = default;  // a deque moves without moving its elements: views stay good
  FileParts& operator=(FileParts&&) = default;
  FileParts(const FileParts&) = delete;
  FileParts& operator=(const FileParts&) = delete;

  void add(std::string bytes) { views_.push_back(kept_.emplace_back(std::move(bytes))); }
  // The caller keeps the memory alive until the file is written.
  void borrow(const void* data, size_t n) {
    views_.emplace_back(static_cast<const char*>(data), n);
  }
  std::span<const std::string_view> views() const { return views_; }
  std::string joined() const {
    std::string out;
    for (const std::string_view v : views_) out += v;
    return out;
  }

 private:
  std::deque<std::string> kept_;
  std::vector<std::string_view> views_;
};

}  // namespace paddle
