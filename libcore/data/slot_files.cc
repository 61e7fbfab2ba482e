#include "data/slot_files.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "base/suggest.h"
#include "data/formats.h"

namespace paddle {
namespace {

std::string_view without_id(std::string_view line, const SlotSpec& spec, const LineReader& at) {
  if (!spec.record_ids) return line;
  const std::string_view whole = line, count = next_word(line), id = next_word(line);
  if (count != "1" || id.empty())
    at.fail("'1' and the id of the record at the start of the line", quoted(whole),
            "let the pipe command print it, or call set_parse_ins_id(False)");
  return line;
}

}  // namespace

std::optional<FileList::Item> FileList::next() {
  const std::lock_guard lock(mutex_);
  if (at_ == files_.size()) return std::nullopt;
  const size_t index = at_++;
  return Item{files_[index], index};
}

SlotStream::SlotStream(const SlotSpec& spec, FileList& files)
    : spec_(spec),
      files_(files),
      format_(multislot_lines(spec.slots)),
      columns_(spec.slots, spec.memory_limit),
      rows_(static_cast<size_t>(spec.batch_size)) {
  std::iota(rows_.begin(), rows_.end(), 0u);
}

bool SlotStream::open_next() {
  const auto item = files_.next();
  if (!item) return false;
  lines_ = std::make_unique<LineReader>(
      item->file, open_command(spec_.command, item->file, spec_.hdfs, spec_.stop));
  return true;
}

bool SlotStream::next(Batch& batch) {
  columns_.clear();
  while (columns_.size() < spec_.batch_size) {
    if (!lines_ && !open_next()) break;
    std::string_view line;
    if (!lines_->next(line)) {
      lines_.reset();
    } else if (format_->is_record(line)) {
      format_->parse(without_id(line, spec_, *lines_), *lines_, columns_);
      columns_.end_record(lines_->path());
    }
  }
  batch.samples = columns_.size();
  batch.fields.resize(spec_.slots.size());
  if (batch.samples == 0) return false;
  columns_.gather(std::span(rows_).first(static_cast<size_t>(batch.samples)), batch);
  return true;
}

SlotMemory::SlotMemory(const SlotSpec& spec)
    : spec_(spec), columns_(spec.slots, spec.memory_limit) {
  multislot_lines(spec.slots);  // complains about slots that make no sense before files are read
}

// Every file has its own columns until all are there: the order does not depend on the threads.
void SlotMemory::load(const std::vector<std::string>& files, int threads) {
  FileList list(files);
  std::vector<std::unique_ptr<Columns>> parts(files.size());
  std::vector<std::exception_ptr> errors(files.size());
  const auto work = [&] {
    const std::unique_ptr<LineFormat> format = multislot_lines(spec_.slots);
    while (const auto item = list.next()) {
      try {
        parts[item->index] = std::make_unique<Columns>(spec_.slots, spec_.memory_limit);
        LineReader lines(item->file,
                         open_command(spec_.command, item->file, spec_.hdfs, spec_.stop));
        for (std::string_view line; lines.next(line);) {
          require(!*spec_.stop, Error::Kind::io, item->file, ": stopped while it was read");
          if (!format->is_record(line)) continue;
          format->parse(without_id(line, spec_, lines), lines, *parts[item->index]);
          parts[item->index]->end_record(item->file);
        }
      } catch (...) {
        errors[item->index] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int t = 1; t < std::min<int>(threads, static_cast<int>(files.size())); ++t)
      workers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  for (size_t f = 0; f < files.size(); ++f) {
    columns_.append(*parts[f], files[f]);
    parts[f].reset();
  }
  const auto before = static_cast<uint32_t>(order_.size());
  order_.resize(static_cast<size_t>(columns_.size()));
  std::iota(order_.begin() + before, order_.end(), before);
}

void SlotMemory::shuffle_records(uint64_t seed) { shuffle(order_, seed, 0); }

void SlotMemory::shuffle_slots(const std::vector<std::string>& names, uint64_t seed) {
  std::vector<std::string> known;
  for (const FieldSpec& slot : spec_.slots) known.push_back(slot.name);
  std::vector<size_t> fields;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    require(found != known.end(), Error::Kind::config, "the data set has no slot '", name, "'",
            did_you_mean(name, known), "; its slots are ", listed(known));
    fields.push_back(static_cast<size_t>(found - known.begin()));
  }
  std::vector<uint32_t> order(order_.size());
  for (const size_t field : fields) {
    std::iota(order.begin(), order.end(), 0u);
    shuffle(order, seed, hash_text(known[field]));
    columns_.permute_field(field, order);
  }
}

void SlotMemory::clear() {
  columns_ = Columns(spec_.slots, spec_.memory_limit);
  order_.clear();
  order_.shrink_to_fit();
  at_ = 0;
}

void SlotMemory::rewind() {
  const std::lock_guard lock(mutex_);
  at_ = 0;
}

bool SlotMemory::next(Batch& batch) {
  std::span<const uint32_t> rows;
  {
    const std::lock_guard lock(mutex_);
    const size_t n = std::min(order_.size() - at_, static_cast<size_t>(spec_.batch_size));
    rows = std::span(order_).subspan(at_, n);
    at_ += n;
  }
  batch.samples = static_cast<int64_t>(rows.size());
  batch.fields.resize(spec_.slots.size());
  if (rows.empty()) return false;
  columns_.gather(rows, batch);
  return true;
}

}  // namespace paddle
