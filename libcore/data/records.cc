#include "data/records.h"

#include <algorithm>
#include <limits>
#include <new>

namespace paddle {
namespace {

size_t record_bytes(const FieldSpec& field) {
  return static_cast<size_t>(field.shape.numel()) * size_of(field.dtype);
}

// Records of a known size are copied without a call for each.
template <size_t size>
void gather_fixed(const std::byte* from, std::span<const uint32_t> rows, std::byte* out) {
  for (const uint32_t row : rows) {
    std::memcpy(out, from + row * size, size);
    out += size;
  }
}

}  // namespace

void MemoryBudget::take(uint64_t bytes, const std::string& file) {
  require(bytes <= limit_ - used_, Error::Kind::data, file, ": the records need more than the ",
          limit_, " bytes allowed for data in memory; read fewer files or raise memory_limit");
  used_ += bytes;
}

void GrowingBytes::grow(size_t size) {
  const size_t capacity = std::max(size, 2 * capacity_);
  void* bytes = std::realloc(bytes_.get(), capacity);
  if (bytes == nullptr) throw std::bad_alloc();
  [[maybe_unused]] const std::byte* moved = bytes_.release();
  bytes_.reset(static_cast<std::byte*>(bytes));
  capacity_ = capacity;
}

Columns::Columns(std::vector<FieldSpec> fields, uint64_t memory_limit)
    : Records(std::move(fields)), columns_(fields_.size()), budget_(memory_limit) {
  for (size_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].lod_level > 0)
      sequences_.push_back(f);
    else
      dense_bytes_ += record_bytes(fields_[f]);
  }
}

void Columns::drop_record() {
  for (size_t f = 0; f < fields_.size(); ++f) {
    Column& c = columns_[f];
    c.bytes.cut(fields_[f].lod_level == 0
                    ? static_cast<size_t>(rows_) * record_bytes(fields_[f])
                    : (c.ends.empty() ? 0 : c.ends.back()) * size_of(fields_[f].dtype));
  }
}

void Columns::end_record(const std::string& file) {
  require(rows_ < std::numeric_limits<uint32_t>::max(), Error::Kind::data, file,
          ": more than 2^32 - 1 records; read fewer files at once");
  uint64_t bytes = dense_bytes_;
  for (const size_t f : sequences_) {
    Column& c = columns_[f];
    const uint64_t before = c.ends.empty() ? 0 : c.ends.back();
    c.ends.push_back(c.bytes.size() / size_of(fields_[f].dtype));
    bytes += (c.ends.back() - before) * size_of(fields_[f].dtype) + sizeof(uint64_t);
  }
  budget_.take(bytes, file);
  counted_ += bytes;
  ++rows_;
}

void Columns::append(const Columns& other, const std::string& file) {
  require(rows_ + other.rows_ <= std::numeric_limits<uint32_t>::max(), Error::Kind::data, file,
          ": more than 2^32 - 1 records; read fewer files at once");
  budget_.take(other.counted_, file);
  counted_ += other.counted_;
  rows_ += other.rows_;
  for (size_t f = 0; f < fields_.size(); ++f) {
    Column& to = columns_[f];
    const Column& from = other.columns_[f];
    const uint64_t before = to.bytes.size() / size_of(fields_[f].dtype);
    to.bytes.append(from.bytes.data(), from.bytes.size());
    for (const uint64_t end : from.ends) to.ends.push_back(before + end);
  }
}

std::span<const std::byte> Columns::bytes_of(size_t field, uint32_t row) const {
  const Column& c = columns_[field];
  if (const size_t record = record_bytes(fields_[field]); fields_[field].lod_level == 0)
    return {c.bytes.data() + row * record, record};
  const size_t element = size_of(fields_[field].dtype);
  const uint64_t begin = row == 0 ? 0 : c.ends[row - 1];
  return {c.bytes.data() + begin * element, (c.ends[row] - begin) * element};
}

void Columns::permute_field(size_t field, std::span<const uint32_t> order) {
  Column to;
  for (const uint32_t row : order) {
    const std::span<const std::byte> record = bytes_of(field, row);
    to.bytes.append(record.data(), record.size());
    if (fields_[field].lod_level > 0)
      to.ends.push_back(to.bytes.size() / size_of(fields_[field].dtype));
  }
  columns_[field] = std::move(to);
}

void Columns::clear() {
  for (Column& c : columns_) {
    c.bytes.cut(0);
    c.ends.clear();
  }
  budget_.clear();
  counted_ = 0;
  rows_ = 0;
}

void Columns::gather(std::span<const uint32_t> rows, Batch& batch) const {
  for (size_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].lod_level == 0)
      gather_dense(f, rows, batch.fields[f]);
    else
      gather_sequences(f, rows, batch.fields[f]);
  }
}

void Columns::gather_dense(size_t field, std::span<const uint32_t> rows, Tensor& to) const {
  const FieldSpec& spec = fields_[field];
  Shape shape{static_cast<int64_t>(rows.size())};
  for (const int64_t dim : spec.shape) shape.append(dim);
  to.resize(spec.dtype, shape);
  const size_t record = record_bytes(spec);
  auto* out = static_cast<std::byte*>(to.raw());
  if (record == 8) return gather_fixed<8>(columns_[field].bytes.data(), rows, out);
  if (record == 4) return gather_fixed<4>(columns_[field].bytes.data(), rows, out);
  for (const uint32_t row : rows) {
    std::memcpy(out, columns_[field].bytes.data() + row * record, record);
    out += record;
  }
}

void Columns::gather_sequences(size_t field, std::span<const uint32_t> rows, Tensor& to) const {
  const FieldSpec& spec = fields_[field];
  const Column& column = columns_[field];
  const auto begin_of = [&](uint32_t row) { return row == 0 ? 0 : column.ends[row - 1]; };
  std::vector<size_t> offsets{0};
  offsets.reserve(rows.size() + 1);
  for (const uint32_t row : rows)
    offsets.push_back(offsets.back() + (column.ends[row] - begin_of(row)));
  to.resize(spec.dtype, {static_cast<int64_t>(offsets.back()), 1});
  const size_t element = size_of(spec.dtype);
  auto* out = static_cast<std::byte*>(to.raw());
  if (offsets.back() == rows.size() && element == 8 && column.ends.back() == column.ends.size()) {
    gather_fixed<8>(column.bytes.data(), rows, out);  // all sequences have one element
    return to.set_lod({std::move(offsets)});
  }
  for (const uint32_t row : rows) {
    const size_t bytes = (column.ends[row] - begin_of(row)) * element;
    if (bytes > 0) std::memcpy(out, column.bytes.data() + begin_of(row) * element, bytes);
    out += bytes;
  }
  to.set_lod({std::move(offsets)});
}

}  // namespace paddle
