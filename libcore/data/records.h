// Records held in memory, addressed by number, and the reader that walks over them.
#pragma once

#include <cstdlib>
#include <cstring>
#include <span>

#include "data/reader.h"

namespace paddle {

class Records {
 public:
  virtual ~Records() = default;
  const std::vector<FieldSpec>& fields() const { return fields_; }
  virtual int64_t size() const = 0;
  // Writes the records `rows` into the fields of `batch`, which has as many tensors as there are
  // fields.
  virtual void gather(std::span<const uint32_t> rows, Batch& batch) const = 0;

 protected:
  explicit Records(std::vector<FieldSpec> fields) : fields_(std::move(fields)) {}
  std::vector<FieldSpec> fields_;
};

// Counts bytes of records against the limit, before they are taken.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
  void take(uint64_t bytes, const std::string& file);
  void clear() { used_ = 0; }

 private:
  uint64_t limit_, used_ = 0;
};

// Bytes that grow at their end. Unlike a vector it does not clear what is about to be written.
class GrowingBytes {
 public:
  const std::byte* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  void append(const void* from, size_t n) {
    if (size_ + n > capacity_) grow(size_ + n);
    if (n > 0) std::memcpy(bytes_.get() + size_, from, n);
    size_ += n;
  }
  void cut(size_t size) { size_ = size; }  // to at most what is there

 private:
  void grow(size_t size);

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

// One array per field, filled record by record: what most formats use.
class Columns : public Records {
 public:
  Columns(std::vector<FieldSpec> fields, uint64_t memory_limit);

  int64_t size() const override { return rows_; }
  void gather(std::span<const uint32_t> rows, Batch& batch) const override;

  // Adds one element to the record under construction. `file` is for the message about memory.
  template <class T>
  void add(size_t field, T value) {
    columns_[field].bytes.append(&value, sizeof(T));
  }
  // Adds several at once.
  template <class T>
  void add_run(size_t field, std::span<const T> values) {
    columns_[field].bytes.append(values.data(), values.size_bytes());
  }
  // What a record has in a field.
  std::span<const std::byte> bytes_of(size_t field, uint32_t row) const;
  // Forgets what was added since the last record ended.
  void drop_record();
  // Ends the record: every dense field has its elements by now. Throws Error(data) above the limit.
  void end_record(const std::string& file);
  // Adds the records of `other`, which has the same fields. Throws Error(data) above the limit.
  void append(const Columns& other, const std::string& file);
  // Record i gets what record order[i] had in this field; `order` is a permutation.
  void permute_field(size_t field, std::span<const uint32_t> order);
  // Forgets all records and keeps the memory.
  void clear();

 private:
  struct Column {
    GrowingBytes bytes;
    std::vector<uint64_t> ends;  // of each record, in elements; LoD fields only
  };
  void gather_dense(size_t field, std::span<const uint32_t> rows, Tensor& to) const;
  void gather_sequences(size_t field, std::span<const uint32_t> rows, Tensor& to) const;

  std::vector<Column> columns_;
  std::vector<size_t> sequences_;  // the fields with LoD
  uint64_t dense_bytes_ = 0;       // of the other fields of one record
  MemoryBudget budget_;
  uint64_t counted_ = 0;
  int64_t rows_ = 0;
};

// Permutes `order` by (seed, stream) alone.
void shuffle(std::span<uint32_t> order, uint64_t seed, uint64_t stream);

// Batches of `records` in the order that `spec` asks for. `source` and `generated` end up in the
// reader's functions of these names.
std::unique_ptr<Reader> read_records(std::unique_ptr<Records> records, const ReaderSpec& spec,
                                     std::string source, bool generated = false);

}  // namespace paddle
