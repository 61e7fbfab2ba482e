// Records held in memory, addressed by number, and the reader that walks over them.
#pragma once

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

// One array per field, filled record by record: what most formats use.
class Columns : public Records {
 public:
  Columns(std::vector<FieldSpec> fields, uint64_t memory_limit);

  int64_t size() const override { return rows_; }
  void gather(std::span<const uint32_t> rows, Batch& batch) const override;

  // Adds one element to the record under construction. `file` is for the message about memory.
  template <class T>
  void add(size_t field, T value) {
    std::vector<std::byte>& to = columns_[field].bytes;
    const size_t at = to.size();
    to.resize(at + sizeof(T));
    std::memcpy(to.data() + at, &value, sizeof(T));
  }
  // Ends the record: every dense field has its elements by now. Throws Error(data) above the limit.
  void end_record(const std::string& file);
  // Adds the records of `other`, which has the same fields. Throws Error(data) above the limit.
  void append(const Columns& other, const std::string& file);
  // Forgets all records and keeps the memory.
  void clear();

 private:
  struct Column {
    std::vector<std::byte> bytes;
    std::vector<uint64_t> ends;  // of each record, in elements; LoD fields only
  };
  void gather_dense(size_t field, std::span<const uint32_t> rows, Tensor& to) const;
  void gather_sequences(size_t field, std::span<const uint32_t> rows, Tensor& to) const;

  std::vector<Column> columns_;
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
