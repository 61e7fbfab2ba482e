// Sparse tables as Fluid's pservers save them: the files TABLE_0 to TABLE_<n-1> in __lookup_table__
// beside the parameters, a SelectedRows stream (schemas/README.md) each, with the ids of one
// remainder modulo n. They hold no state of the optimizer, and no ids above 2^63 - 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/table_file.h"
#include "tensor/tensor.h"

namespace paddle {

// Where Fluid has them in a model.
std::string fluid_tables_directory(const std::string& model);
// Those of a table in such a directory, up to the highest number; none is no error.
std::vector<std::string> fluid_streams(const std::string& directory, const std::string& table);

// How the ids of a table are divided into streams.
struct FluidStreams {
  std::vector<uint64_t> rows;         // of each stream
  int64_t height = 0;                 // ids are below it
  std::optional<uint64_t> too_large;  // an id that does not fit
};
// Reads the whole file. Throws Error(io or data).
FluidStreams divide(const TableFile& file, uint64_t streams);
// Writes them, in one walk over the table: each appears whole or not at all. Streams of an earlier
// table that had more of them go. Throws Error(io or data).
void write_fluid_streams(const TableFile& file, const FluidStreams& streams,
                         const std::string& directory);
void remove_fluid_streams(const std::string& directory, const std::string& table, size_t from);

// One of them, whole in memory. Throws Error(io, or data where its rows do not have `width` values;
// -1: any number).
SelectedRows read_fluid_stream(const std::string& file, int64_t width);

// A table that was saved: a file of its own (exec/table_stream.h), or Fluid's streams.
struct SavedTable {
  std::string path;                       // the file, or one of the streams
  std::vector<std::string> streams = {};  // empty: `path` is the file of a table
  TableHead head = {};                    // of streams, which say nothing of their table

  uint64_t bytes() const;
  // Reads either as the file of a table. Rows of streams begin with the optimizer's first state;
  // one stream at a time is in memory. Throws Error(io or data), as the reader does.
  TableReader open() const;
};
// The file of a table in a model, else Fluid's streams of it. Throws Error(data) where there is
// neither.
SavedTable saved_table(const std::string& model, const TableSpec& spec);

}  // namespace paddle
