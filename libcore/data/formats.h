// The data formats: one row each, in the format's own file. The list in meson.build makes the
// table.
#pragma once

#include <functional>
#include <string_view>

#include "base/arguments.h"
#include "data/line_format.h"
#include "data/records.h"
#include "tensor/arguments.h"

namespace paddle {

using OpenReader = std::function<std::unique_ptr<Reader>(const ReaderSpec&)>;

struct DataFormat {
  std::string_view name, meaning;
  // Declares and reads the format's own keys. What it returns may be called if there were no
  // mistakes.
  OpenReader (*declare)(Arguments&);
  bool test_needs_files = false;  // the test part reads `files` beside `test_files`
};

const std::vector<DataFormat>& data_formats();  // by name
// Throws Error(config) with a suggestion for an unknown name.
const DataFormat& data_format(const std::string& name);

// The "data" object of a job file.
struct DataKeys {
  ReaderSpec spec;       // as for training
  int32_t prefetch = 4;  // batches read ahead

  DataKeys() {
    spec.batch_size = 32;
    spec.shuffle = true;
  }
  // The keys that all formats have.
  void declare(Arguments& a);
  // The spec of the training or the test part.
  ReaderSpec part(bool test) const;
};
// Reads the object, and with it the keys of its format; returns all that is wrong.
Mistakes read_data_keys(const Value& object, DataKeys& keys);

// The rule for one line of MultiSlot text. Throws Error(config) for slots that make no sense.
std::unique_ptr<LineFormat> multislot_lines(std::vector<FieldSpec> slots);

// Gives the fields the names that the user chose. Throws Error(config) where their number differs.
void rename_fields(std::vector<FieldSpec>& fields, const ReaderSpec& spec);

// Throws Error(data) where `path` gave no record.
void require_records(int64_t records, const std::string& path);

// "404 records from a, b and 2 more"
std::string source_of_files(int64_t records, const std::vector<std::string>& files);

}  // namespace paddle
