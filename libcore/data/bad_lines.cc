#include "data/bad_lines.h"

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace paddle {
namespace {

constexpr int64_t logged_one_by_one = 3;

std::string lines_text(int64_t n) { return text(n, n == 1 ? " bad line" : " bad lines"); }

}  // namespace

BadLines::BadLines(const ReaderSpec& spec) : limit_(spec.skip_bad_lines) {
  if (limit_ == 0 || spec.reject_file.empty()) return;
  path_ = spec.reject_file;
  if (spec.test) path_ += ".test";
  if (spec.trainer_count > 1) path_ += text(".", spec.trainer_id);
}

void BadLines::add(size_t file, const LineReader& at, std::string_view line, const Error& why) {
  const std::pair<size_t, int64_t> place{file, at.number()};
  if (place <= last_) return;
  last_ = place;
  ++count_;
  if (count_ == 1) first_ = why.what();
  require(limit_ < 0 || count_ <= limit_, Error::Kind::data, why.what(), "; this is bad line ",
          count_, ", and skip_bad_lines allows ", limit_);
  if (!path_.empty()) reject(at, line, why.what());
  if (count_ <= logged_one_by_one)
    log_warn(text("left out a bad line: ", why.what(),
                  count_ == logged_one_by_one ? "; further ones are counted" : ""));
}

void BadLines::reject(const LineReader& at, std::string_view line, const std::string& why) {
  if (!out_.is_open()) out_.open(path_, std::ios::binary | std::ios::trunc);
  std::string reason = why.substr(std::min(why.size(), at.where().size() + 2));
  for (char& c : reason)
    if (c == '\t' || c == '\n') c = ' ';
  out_ << at.where() << '\t' << reason << '\t' << line << '\n' << std::flush;
  require(out_.good(), Error::Kind::io, "cannot write the reject file ", path_, ": ",
          std::strerror(errno), "; check its directory, or leave reject_file out");
}

void BadLines::end_of_data(uint64_t good) {
  require(good > 0 || count_ == 0, Error::Kind::data, "all lines are bad (", count_,
          "); the first: ", first_);
  if (count_ == logged_) return;
  logged_ = count_;
  log_warn(text("left out ", lines_text(count_), " beside ", good, " records",
                path_.empty() ? "; reject_file would keep them" : "; see " + path_));
}

}  // namespace paddle
