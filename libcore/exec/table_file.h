// The file of a saved table (table_stream.h), read part by part: the tools that look at a table
// need no more memory than one part, whatever its size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "exec/table_store.h"
#include "exec/table_stream.h"
#include "table/part.h"

namespace paddle {

class TableFile {
 public:
  // Reads what the file says of its table. Throws Error(io or data).
  explicit TableFile(std::string path);

  const std::string& path() const { return path_; }
  const TableHead& head() const { return head_; }
  const TableSpec& spec() const { return head_.spec; }
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }  // of the file
  const RowLayout& layout() const { return format_.layout; }
  // A table of this kind without rows: what an id without a row has.
  const Table& without_rows() const { return *empty_; }

  // f(row) for every row, in the order of the file. Throws Error(data) where a part is damaged or
  // missing, and where there are more or fewer rows than the file says; f has seen rows of the
  // parts before by then.
  void each_row(const std::function<void(const std::byte* row)>& f) const;

 private:
  std::string path_;
  TableHead head_;
  uint64_t bytes_ = 0, rows_ = 0;
  PartFormat format_;
  std::unique_ptr<Table> empty_;
};

}  // namespace paddle
