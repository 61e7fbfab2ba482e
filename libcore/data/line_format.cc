#include "data/line_format.h"

#include "data/formats.h"
#include "data/stream_reader.h"

namespace paddle {

LineCursor::LineCursor(LineFormat& format, std::vector<std::string> files, uint32_t trainer_id,
                       uint32_t trainer_count)
    : format_(format),
      files_(std::move(files)),
      trainer_id_(trainer_id),
      trainer_count_(trainer_count) {
  rewind();
}

void LineCursor::rewind() {
  record_ = 0;
  open(0);
}

void LineCursor::open(size_t file) {
  file_ = file;
  records_in_file_ = 0;
  lines_ = std::make_unique<LineReader>(files_[file]);
  format_.begin_file(files_[file]);
}

bool LineCursor::next_record(std::string_view& line) {
  for (;;) {
    while (lines_->next(line))
      if (format_.is_record(line)) {
        ++records_in_file_;
        return true;
      }
    require_records(static_cast<int64_t>(records_in_file_), files_[file_]);
    if (file_ + 1 == files_.size()) return false;
    open(file_ + 1);
  }
}

bool LineCursor::advance(std::string_view& line) {
  while (next_record(line))
    if (record_++ % trainer_count_ == trainer_id_) return true;
  return false;
}

bool LineCursor::next(Columns& to) {
  std::string_view line;
  if (!advance(line)) return false;
  format_.parse(line, *lines_, to);
  to.end_record(lines_->path());
  return true;
}

bool LineCursor::skip() {
  std::string_view line;
  return advance(line);
}

std::unique_ptr<Reader> read_lines(std::unique_ptr<LineFormat> format, const std::string& name,
                                   const std::vector<std::string>& files, const ReaderSpec& spec) {
  const std::string part = spec.trainer_count == 1
                               ? ""
                               : text(" (part ", spec.trainer_id, " of ", spec.trainer_count, ")");
  if (spec.window > 0) return stream_lines(std::move(format), name, files, spec, part);
  LineCursor cursor(*format, files, spec.trainer_id, spec.trainer_count);
  auto columns = std::make_unique<Columns>(format->fields(), spec.memory_limit);
  while (cursor.next(*columns)) {
  }
  std::string source = text(name, ": ", source_of_files(columns->size(), files), part);
  ReaderSpec whole = spec;  // only the records of this shard were kept
  whole.trainer_id = 0;
  whole.trainer_count = 1;
  return read_records(std::move(columns), whole, std::move(source));
}

}  // namespace paddle
