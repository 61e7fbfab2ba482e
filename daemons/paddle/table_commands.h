// The words after `paddle table`: what they do with the file of a saved table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"
#include "exec/table_file.h"

namespace paddle {

// Gets the bytes of an export; throws Error(io) where they cannot be written.
using TextSink = std::function<void(std::string_view bytes)>;

// All that inspect prints: what the table is, statistics of its rows, samples, and the rows of
// `ids`.
std::string inspect_table(TableFile& file, size_t samples, const std::vector<uint64_t>& ids);

// One line per row: its id and values, separated by tabs; with `states` also step and number of
// updates before the values and the optimizer's state behind them. Lines with # come first: all
// that the file says of its table. Numbers are exact: import_table() makes the same bits of them.
void export_text(TableFile& file, bool states, const TextSink& out);
// Fluid's SelectedRows stream of the rows. Throws Error(data) for an id above 2^63 - 2, which it
// cannot hold.
void export_selected_rows(TableFile& file, const TextSink& out);
// The same as one file for each of so many pservers (trainer/fluid_tables.h).
void export_shards(TableFile& file, const std::string& directory, uint64_t shards);

// What import_table() takes where the text does not say it; a word that is given counts more than
// the text.
struct ImportWords {
  std::string name;       // of the table; "" = that of the head
  std::string rule;       // the optimizer; "" = that of the head, else sgd
  std::string head = {};  // of another table, whose description is taken: table_head_text()
};
// The table of a text as export_text() writes it, with or without the lines that begin with #. All
// its rows are in memory. Throws Error(data) with the line of what is wrong.
TableStore import_table(LineReader& lines, const ImportWords& words);
// The same of SelectedRows streams, each with other ids: their ids, values and height.
TableStore import_selected_rows(const std::vector<std::string>& files, const ImportWords& words);

}  // namespace paddle
