#include "data/line_format.h"

#include "data/formats.h"
#include "data/stream_reader.h"

namespace paddle {

LineCursor::LineCursor(LineFormat& format, LineFiles files, const ReaderSpec& spec)
    : format_(format),
      files_(std::move(files)),
      trainer_id_(spec.trainer_id),
      trainer_count_(spec.trainer_count),
      bad_(spec) {
  rewind();
}

void LineCursor::rewind() {
  record_ = good_ = 0;
  open(0);
}

void LineCursor::open(size_t file) {
  file_ = file;
  records_in_file_ = 0;
  const std::string& name = files_.names[file];
  lines_ = std::make_unique<LineReader>(name, files_.open(name));
  format_.begin_file(name);
}

bool LineCursor::next_record(std::string_view& line) {
  for (;;) {
    while (lines_->next(line))
      if (format_.is_record(line)) {
        ++records_in_file_;
        return true;
      }
    require_records(static_cast<int64_t>(records_in_file_), files_.names[file_]);
    if (file_ + 1 == files_.names.size()) return false;
    open(file_ + 1);
  }
}

bool LineCursor::advance(std::string_view& line) {
  while (next_record(line))
    if (record_++ % trainer_count_ == trainer_id_) return true;
  return false;
}

bool LineCursor::parse(std::string_view line, Columns& to) {
  try {
    format_.parse(line, *lines_, to);
    return true;
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::data || !bad_.allowed()) throw;
    to.drop_record();
    bad_.add(file_, *lines_, line, e);
    return false;
  }
}

bool LineCursor::next(Columns& to) {
  std::string_view line;
  while (advance(line)) {
    if (!parse(line, to)) continue;
    to.end_record(lines_->path());
    ++good_;
    return true;
  }
  bad_.end_of_data(good_);
  return false;
}

// Positions count records that could be read, so that lines before them have to be read again.
bool LineCursor::skip() {
  std::string_view line;
  if (!bad_.allowed()) return advance(line);
  if (!skipped_) skipped_ = std::make_unique<Columns>(format_.fields(), ~uint64_t{0});
  while (advance(line)) {
    const bool good = parse(line, *skipped_);
    skipped_->drop_record();
    good_ += good;
    if (good) return true;
  }
  return false;
}

std::unique_ptr<Reader> read_lines(std::unique_ptr<LineFormat> format, const std::string& name,
                                   const LineFiles& files, const ReaderSpec& spec) {
  const std::string part = spec.trainer_count == 1
                               ? ""
                               : text(" (part ", spec.trainer_id, " of ", spec.trainer_count, ")");
  if (spec.window > 0) return stream_lines(std::move(format), name, files, spec, part);
  LineCursor cursor(*format, files, spec);
  auto columns = std::make_unique<Columns>(format->fields(), spec.memory_limit);
  while (cursor.next(*columns)) {
  }
  std::string source = text(name, ": ", source_of_files(columns->size(), files.names), part);
  ReaderSpec whole = spec;  // only the records of this shard were kept
  whole.trainer_id = 0;
  whole.trainer_count = 1;
  return read_records(std::move(columns), whole, std::move(source));
}

}  // namespace paddle
