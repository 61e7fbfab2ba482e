// The bytes of a file, whether it is plain, gzip, xz or zstd: the first bytes decide, not the name.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace paddle {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `to.size()` bytes; 0 at the end and only there. Throws Error(io), or Error(data) where
  // the compressed form is damaged or ends early.
  virtual size_t read(std::span<char> to) = 0;
};

// Throws Error(io) where there is no such file to read.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

// Reads a file line by line and knows its place. A line may have at most `longest` bytes.
class LineReader {
 public:
  static constexpr size_t longest = size_t{64} << 20;

  explicit LineReader(const std::string& path);
  // Lines of `bytes`; `name` stands for the file in messages.
  LineReader(const std::string& name, std::unique_ptr<ByteSource> bytes);

  // The next line without its end (\n or \r\n), valid until the next call; false at the end of the
  // file.
  bool next(std::string_view& line);
  const std::string& path() const { return path_; }
  int64_t number() const { return number_; }  // of the line last given, from 1
  std::string where() const;                  // "file:12"
  // Throws Error(data) "file:12: expected …, found …; remedy".
  [[noreturn]] void fail(const std::string& expected, const std::string& found,
                         const std::string& remedy) const;

 private:
  bool refill();

  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  int64_t number_ = 0;
};

// 'text', cut to a length that fits a message.
std::string quoted(std::string_view text);

// The token up to the next blank, taken off the front of `line`; empty at its end.
std::string_view next_word(std::string_view& line);

// The whole of `word` as a number; false where it is none. parse_float refuses NaN and infinity.
bool parse_float(std::string_view word, double& value);
bool parse_float(std::string_view word, float& value);
bool parse_int(std::string_view word, int64_t& value);

}  // namespace paddle
