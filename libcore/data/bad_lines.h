// Lines that cannot be read and are left out: how many, which, and where they are kept.
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/byte_source.h"
#include "data/reader.h"

namespace paddle {

// Of one reader. A line that is met again, in another pass or after a seek, counts once.
class BadLines {
 public:
  explicit BadLines(const ReaderSpec& spec);

  // Whether any may be left out.
  bool allowed() const { return limit_ != 0; }
  // Counts a line, writes it to the reject file and logs the first ones. Throws Error(data) where
  // there are more than the spec allows, Error(io) where the reject file cannot be written.
  void add(size_t file, const LineReader& at, std::string_view line, const Error& why);
  // The data has ended with `good` records. Logs the total once; throws Error(data) where all lines
  // were bad.
  void end_of_data(uint64_t good);

 private:
  void reject(const LineReader& at, std::string_view line, const std::string& why);

  int64_t limit_;
  std::string path_;  // of the reject file, "" = none
  std::ofstream out_;
  std::string first_;                  // why the first one was bad
  std::pair<size_t, int64_t> last_{};  // file and line of the last one that was counted
  int64_t count_ = 0, logged_ = 0;
};

}  // namespace paddle
