// Generated records as lines of text, so that they take the way of files: parsing, windows, parts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "data/byte_source.h"
#include "data/reader.h"

namespace paddle {

// Adds the line of record `i`, with its end.
using MakeLine = std::function<void(uint64_t i, std::string& to)>;

// The lines of the records [first, first + count).
std::unique_ptr<ByteSource> generated_lines(uint64_t first, uint64_t count, MakeLine make);

// `reader`, whose records were generated: `source` is the sentence that says so.
std::unique_ptr<Reader> as_generated(std::unique_ptr<Reader> reader, std::string source);

// "criteo: no files are named: 1000 records generated from seed 1; the best AUC that a model can
// reach is 0.8123"
std::string generated_source(const char* format, uint64_t records, uint64_t seed, double best_auc);

}  // namespace paddle
