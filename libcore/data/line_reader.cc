#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "data/byte_source.h"

namespace paddle {

LineReader::LineReader(const std::string& path) : LineReader(path, open_bytes(path)) {}

LineReader::LineReader(const std::string& name, std::unique_ptr<ByteSource> bytes)
    : path_(name), bytes_(std::move(bytes)) {
  buffer_.resize(size_t{256} << 10);
}

bool LineReader::next(std::string_view& line) {
  size_t searched = 0;  // bytes of the line known to hold no end
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const void* found = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    searched = end_ - begin_;
    if (found == nullptr && !at_end_ && refill()) continue;
    if (found == nullptr && searched == 0) return false;
    size_t length = found ? static_cast<size_t>(static_cast<const char*>(found) - from) : searched;
    begin_ += length + (found ? 1 : 0);
    ++number_;
    if (length > 0 && from[length - 1] == '\r') --length;
    line = {from, length};
    if (number_ == 1 && line.starts_with("\xEF\xBB\xBF"))
      line.remove_prefix(3);  // a byte order mark
    return true;
  }
}

// More bytes behind those not used yet. At the end of the file `true` once more, so that the caller
// looks again.
bool LineReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    require(end_ < longest, Error::Kind::data, path_, ":", number_ + 1, ": the line has more than ",
            longest, " bytes; is this a text file?");
    buffer_.resize(std::min(longest, 2 * end_));
  }
  const size_t n = bytes_->read({buffer_.data() + end_, buffer_.size() - end_});
  end_ += n;
  at_end_ = n == 0;
  return true;
}

std::string LineReader::where() const { return text(path_, ":", number_); }

void LineReader::fail(const std::string& expected, const std::string& found,
                      const std::string& remedy) const {
  throw Error(Error::Kind::data, where(), ": expected ", expected, ", found ", found, "; ", remedy);
}

std::string quoted(std::string_view text) {
  constexpr size_t most = 40;
  std::string out = "'";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;  // a message stays one line of text
  }
  return out + (text.size() > most ? "…'" : "'");
}

namespace {
constexpr std::string_view blanks = " \t\v\f\r";
}

std::string_view next_word(std::string_view& line) {
  const size_t begin = line.find_first_not_of(blanks);
  if (begin == std::string_view::npos) {
    line = {};
    return {};
  }
  const size_t end = std::min(line.find_first_of(blanks, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

namespace {

// from_chars knows no leading plus.
template <class T>
bool parse(std::string_view word, T& value) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

bool parse_float(std::string_view word, double& value) {
  return parse(word, value) && std::isfinite(value);
}

// Through double, so that a number too small for a float becomes 0 instead of an error.
bool parse_float(std::string_view word, float& value) {
  double wide = 0;
  if (!parse_float(word, wide)) return false;
  value = static_cast<float>(wide);
  return std::isfinite(value);
}

bool parse_int(std::string_view word, int64_t& value) { return parse(word, value); }

}  // namespace paddle
