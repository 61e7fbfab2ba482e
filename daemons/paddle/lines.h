// Bytes of a pipe, put together to lines.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace paddle {

class Lines {
 public:
  // Calls on_line(std::string) for every line that is complete, without its newline. What is longer
  // than 64 KiB comes in parts.
  template <class OnLine>
  void take(std::string_view bytes, const OnLine& on_line) {
    for (const char c : bytes) {
      if (c != '\n') line_ += c;
      if (c == '\n' || line_.size() >= longest) on_line(std::exchange(line_, {}));
    }
  }
  // The last line, where no newline came; "" where there is none.
  std::string rest() { return std::exchange(line_, {}); }

 private:
  static constexpr size_t longest = 1 << 16;
  std::string line_;
};

}  // namespace paddle
