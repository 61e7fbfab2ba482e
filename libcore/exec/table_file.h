// The file of a saved table (table_stream.cc describes its bytes), read part by part: the tools
// that look at a table need no more memory than one part, whatever its size.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/table_store.h"
#include "table/row_layout.h"

namespace paddle {

// The lines "key value" that a file begins with.
std::string table_head_value(const std::string& head, const std::string& key);

// A store with one table, which has no rows yet and is all else that the head says. Throws
// Error(data); `file` is named in it.
TableStore empty_table(const std::string& head, const std::string& file);

class TableFile {
 public:
  // Reads what the file says of its table. Throws Error(io or data).
  explicit TableFile(std::string path);

  const std::string& path() const { return path_; }
  const std::string& head() const { return head_; }
  const TableSpec& spec() const { return kept_->spec; }
  uint64_t version() const { return kept_->version; }  // updates so far
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }  // of the file
  const RowLayout& layout() const { return layout_; }
  // What an id without a row has.
  const Table& table() const { return *kept_->table; }

  // f(row) for every row, in the order of the file. Throws Error(data) where a part is damaged or
  // missing, and where there are more or fewer rows than the head says; f has seen rows of the
  // parts before by then.
  void each_row(const std::function<void(const std::byte* row)>& f);

 private:
  void read(void* to, uint64_t bytes);
  uint64_t read_number();

  std::string path_, head_;
  std::ifstream file_;
  uint64_t bytes_ = 0, left_ = 0, parts_at_ = 0, rows_ = 0;
  TableStore store_;
  const TableStore::Kept* kept_ = nullptr;
  RowLayout layout_;
};

}  // namespace paddle
