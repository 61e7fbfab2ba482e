// Formats with one record per line: read whole into memory, or streamed through a window of
// records.
#pragma once

#include <functional>

#include "data/bad_lines.h"
#include "data/byte_source.h"
#include "data/records.h"

namespace paddle {

class LineFormat {
 public:
  virtual ~LineFormat() = default;
  // Known once the first file has begun.
  virtual const std::vector<FieldSpec>& fields() const = 0;
  virtual void begin_file(const std::string& /*path*/) {}
  // Called once for each line, in order. Lines that are none are blank ones, comments, headers.
  virtual bool is_record(std::string_view line) = 0;
  // Adds the elements of a record to all fields, or throws Error(data).
  virtual void parse(std::string_view line, const LineReader& at, Columns& to) = 0;
};

// Files by name, and how one is opened.
struct LineFiles {
  std::vector<std::string> names;
  std::function<std::unique_ptr<ByteSource>(const std::string&)> open = open_bytes;
};

// Walks over the records of one shard in all files.
class LineCursor {
 public:
  // `format` outlives the cursor. Begins the first file.
  LineCursor(LineFormat& format, LineFiles files, const ReaderSpec& spec);
  // Adds the next record; false after the last one. Bad lines are left out where the spec allows
  // it.
  bool next(Columns& to);
  // Passes over the next record; false after the last one. Looks into it only where bad lines are
  // left out.
  bool skip();
  void rewind();

 private:
  bool advance(std::string_view& line);  // to the next record of this shard
  bool next_record(std::string_view& line);
  bool parse(std::string_view line, Columns& to);  // false for a bad line that is left out
  void open(size_t file);

  LineFormat& format_;
  LineFiles files_;
  uint32_t trainer_id_, trainer_count_;
  BadLines bad_;
  std::unique_ptr<Columns> skipped_;  // where skip() looks into records
  std::unique_ptr<LineReader> lines_;
  size_t file_ = 0;
  uint64_t record_ = 0;  // of all shards, from the start of the pass
  uint64_t records_in_file_ = 0;
  uint64_t good_ = 0;  // records of this shard, from the start of the pass
};

// In memory, or streamed where spec.window is set. `name` opens the sentence of Reader::source().
std::unique_ptr<Reader> read_lines(std::unique_ptr<LineFormat> format, const std::string& name,
                                   const LineFiles& files, const ReaderSpec& spec);

}  // namespace paddle
