#include "data/slot_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>

#include "base/log.h"
#include "base/random.h"
#include "base/suggest.h"
#include "data/formats.h"

namespace paddle {
namespace {

// Takes the id from the front of the line; "" where lines have none.
std::string_view take_id(std::string_view& line, const SlotSpec& spec, const LineReader& at) {
  if (!spec.record_ids) return {};
  const std::string_view whole = line, count = next_word(line), id = next_word(line);
  if (count != "1" || id.empty())
    at.fail("'1' and the id of the record at the start of the line", quoted(whole),
            "let the pipe command print it, or call set_parse_ins_id(False)");
  return id;
}

std::vector<FieldSpec> id_field() {
  return {{.name = "id", .dtype = DType::u8, .shape = {1}, .lod_level = 1}};
}

// Records of one file while it is read.
struct LoadedFile {
  Columns records, ids;
};

// Lines must have something in each slot: zeros stand for nothing.
bool only_zeros(std::span<const std::byte> bytes, DType dtype) {
  if (dtype != DType::f32)
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (!(std::abs(value) < 1e-6f)) return false;
  }
  return true;
}

// Which record of the group each slot is taken from; nothing where two of them have the same one.
std::optional<std::vector<uint32_t>> sources_of(const Columns& records,
                                                std::span<const uint32_t> group) {
  std::vector<uint32_t> out;
  for (size_t f = 0; f < records.fields().size(); ++f) {
    std::optional<uint32_t> from;
    for (const uint32_t row : group) {
      if (only_zeros(records.bytes_of(f, row), records.fields()[f].dtype)) continue;
      if (from) return std::nullopt;
      from = row;
    }
    out.push_back(from.value_or(group.front()));
  }
  return out;
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
      take_id(line, spec_, *lines_);
      format_->parse(line, *lines_, columns_);
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
    : spec_(spec), columns_(spec.slots, spec.memory_limit), ids_(id_field(), spec.memory_limit) {
  multislot_lines(spec.slots);  // complains about slots that make no sense before files are read
}

bool takes_record(const RecordShare& share, uint64_t file, uint64_t record) {
  if (share.parts <= 1) return true;
  const uint64_t hash = mix64(mix64(share.seed ^ mix64(file + golden)) + record);
  return static_cast<uint32_t>((hash >> 32) * share.parts >> 32) == share.part;
}

// Every file has its own columns until all are there: the order does not depend on the threads.
int64_t SlotMemory::load(const std::vector<std::string>& files, int threads,
                         const RecordShare& share) {
  FileList list(files);
  std::vector<std::unique_ptr<LoadedFile>> parts(files.size());
  std::vector<int64_t> records(files.size(), 0);
  std::vector<std::exception_ptr> errors(files.size());
  const auto work = [&] {
    const std::unique_ptr<LineFormat> format = multislot_lines(spec_.slots);
    while (const auto item = list.next()) {
      try {
        LoadedFile& part =
            *(parts[item->index] = std::make_unique<LoadedFile>(
                  LoadedFile{{spec_.slots, spec_.memory_limit}, {id_field(), spec_.memory_limit}}));
        LineReader lines(item->file,
                         open_command(spec_.command, item->file, spec_.hdfs, spec_.stop));
        for (std::string_view line; lines.next(line);) {
          require(!*spec_.stop, Error::Kind::io, item->file, ": stopped while it was read");
          if (!format->is_record(line)) continue;
          const std::string_view id = take_id(line, spec_, lines);
          const auto record = static_cast<uint64_t>(records[item->index]++);
          // Records that will be merged go to one place.
          if (spec_.keeps_ids ? !takes_record(share, 0, hash_text(id))
                              : !takes_record(share, item->index, record))
            continue;
          format->parse(line, lines, part.records);
          part.records.end_record(item->file);
          if (!spec_.keeps_ids) continue;
          part.ids.add_run(0, std::span(id));
          part.ids.end_record(item->file);
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
    columns_.append(parts[f]->records, files[f]);
    ids_.append(parts[f]->ids, files[f]);
    parts[f].reset();
  }
  const auto before = static_cast<uint32_t>(order_.size());
  order_.resize(static_cast<size_t>(columns_.size()));
  std::iota(order_.begin() + before, order_.end(), before);
  return std::accumulate(records.begin(), records.end(), int64_t{0});
}

void SlotMemory::shuffle_records(uint64_t seed) { shuffle(order_, seed, 0); }

void SlotMemory::merge_by_id(size_t count) {
  const auto first = static_cast<uint32_t>(columns_.size() - ids_.size());
  const auto id_of = [&](uint32_t row) {
    const std::span<const std::byte> id = ids_.bytes_of(0, row - first);
    return std::string_view(reinterpret_cast<const char*>(id.data()), id.size());
  };
  std::vector<uint32_t> rows(static_cast<size_t>(ids_.size()));
  std::iota(rows.begin(), rows.end(), first);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return id_of(a) < id_of(b); });

  Columns merged(spec_.slots, spec_.memory_limit);
  const auto keep = [&](const auto& source_of) {
    for (size_t f = 0; f < spec_.slots.size(); ++f)
      merged.add_run(f, columns_.bytes_of(f, source_of(f)));
    merged.end_record("merging records by id");
  };
  for (uint32_t row = 0; row < first; ++row) keep([&](size_t) { return row; });
  size_t dropped = 0;
  std::string_view example;
  for (size_t i = 0, end = 0; i < rows.size(); i = end) {
    while (end < rows.size() && id_of(rows[end]) == id_of(rows[i])) ++end;
    const auto group = std::span(rows).subspan(i, end - i);
    std::optional<std::vector<uint32_t>> sources;
    if (count == 0 || group.size() == count) sources = sources_of(columns_, group);
    if (sources) {
      keep([&](size_t f) { return (*sources)[f]; });
    } else {
      if (dropped == 0) example = id_of(rows[i]);
      dropped += group.size();
    }
  }
  if (dropped > 0)
    log_warn(text("merging by id dropped ", dropped, " of ", rows.size(), " records, those of '",
                  example, "' first: two of an id have the same slot",
                  count > 0 ? text(", or it has not ", count, " of them") : ""));
  columns_ = std::move(merged);
  ids_ = Columns(id_field(), spec_.memory_limit);
  order_.resize(static_cast<size_t>(columns_.size()));
  std::iota(order_.begin(), order_.end(), 0u);
  at_ = 0;
}

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
  ids_ = Columns(id_field(), spec_.memory_limit);
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
