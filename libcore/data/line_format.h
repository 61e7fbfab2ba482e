// Formats with one record per line: read whole into memory, or streamed through a window of
// records.
#pragma once

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

// Walks over the records of one shard in all files.
class LineCursor {
 public:
  // `format` outlives the cursor. Begins the first file.
  LineCursor(LineFormat& format, std::vector<std::string> files, uint32_t trainer_id,
             uint32_t trainer_count);
  // Adds the next record; false after the last one.
  bool next(Columns& to);
  // Passes over the next record without looking into it; false after the last one.
  bool skip();
  void rewind();

 private:
  bool advance(std::string_view& line);  // to the next record of this shard
  bool next_record(std::string_view& line);
  void open(size_t file);

  LineFormat& format_;
  std::vector<std::string> files_;
  uint32_t trainer_id_, trainer_count_;
  std::unique_ptr<LineReader> lines_;
  size_t file_ = 0;
  uint64_t record_ = 0;  // of all shards, from the start of the pass
  uint64_t records_in_file_ = 0;
};

// In memory, or streamed where spec.window is set. `name` opens the sentence of Reader::source().
std::unique_ptr<Reader> read_lines(std::unique_ptr<LineFormat> format, const std::string& name,
                                   const std::vector<std::string>& files, const ReaderSpec& spec);

}  // namespace paddle
