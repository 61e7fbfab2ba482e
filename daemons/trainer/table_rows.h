// Rows of sparse tables between shards, the scope and files. A table with is_sparse alone is one
// array in the scope, beside the arrays of its optimizer state, as Fluid has it; one with
// is_distributed is in no process as a whole, and comes from a file part by part.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/table_stream.h"
#include "graph/transpile.h"
#include "table/part.h"
#include "tensor/scope.h"
#include "trainer/fluid_tables.h"

namespace paddle {

// A part of a scope: the files that tables are loaded from when a job begins, by parameter.
struct TableFiles {
  std::map<std::string, SavedTable> tables;
};

// Rows that the files do not have begin as theirs did. Throws Error(data or io).
void take_first_rows(Cut& cut, const TableFiles& files);

// Part k of a table is kept by the shard at place k of Cut::table_shards, under an id behind those
// of all slices.
struct TablePlace {
  size_t table = 0, shard = 0;
  uint32_t id = 0, part = 0, parts = 1;
};
std::vector<TablePlace> table_places(const Cut& cut);

// The arrays of the scope that a table with is_sparse alone is kept in.
class TableArrays {
 public:
  // Throws Error(config) where one is missing or has another shape.
  TableArrays(const Cut& cut, size_t table, const Scope& scope);

  // A row as the table keeps it: to the arrays, and from them.
  void set_row(const RowLayout& layout, const std::byte* row);
  void get_row(uint64_t id, PartWriter& to, uint32_t clock) const;
  int64_t height() const { return height_; }
  // Numbers that depend on the number of updates: powers of adam's betas.
  void set_powers(uint64_t version);

 private:
  struct Array {
    Tensor tensor;
    int64_t width;
  };
  struct Power {
    Tensor tensor;
    float base;
  };
  std::string name_;
  int64_t height_ = 0;
  Array values_;
  std::vector<Array> states_;
  std::vector<Power> powers_;
};

// The rows that one part of a table begins with, where they do not follow from its description: one
// message after the other.
class FirstRowsSource {
 public:
  // Null where nothing has to be sent. `clock` is that of the rows.
  static std::unique_ptr<FirstRowsSource> of(const Cut& cut, const TablePlace& place,
                                             const Scope& scope, uint64_t version);
  virtual ~FirstRowsSource() = default;
  // The next part; false where it is the last one. Throws Error(data or io).
  bool next(std::vector<std::byte>& chunk);

 protected:
  FirstRowsSource(PartFormat format, const TablePlace& place, uint32_t clock)
      : out_(std::move(format)), place_(place), clock_(clock) {}
  // Adds the next row, or some; false where there are no more.
  virtual bool add() = 0;

  PartWriter out_;
  TablePlace place_;
  uint32_t clock_, number_ = 0;
};

// For the digest of first values: what they are, or where they come from.
uint64_t hash_first_rows(const Cut& cut, size_t table, const Scope& scope, uint64_t seed);

}  // namespace paddle
