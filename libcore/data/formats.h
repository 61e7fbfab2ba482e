// One function per format: open_reader() picks one by the name in the spec.
#pragma once

#include "data/line_format.h"
#include "data/records.h"

namespace paddle {

std::unique_ptr<Reader> open_uci_housing(const ReaderSpec& spec);
std::unique_ptr<Reader> open_mnist(const ReaderSpec& spec);
std::unique_ptr<Reader> open_ngram(const ReaderSpec& spec);
std::unique_ptr<Reader> open_libsvm(const ReaderSpec& spec);
std::unique_ptr<Reader> open_csv(const ReaderSpec& spec);
std::unique_ptr<Reader> open_multislot(const ReaderSpec& spec);

// The rule for one line of MultiSlot text. Throws Error(config) for slots that make no sense.
std::unique_ptr<LineFormat> multislot_format(std::vector<FieldSpec> slots);

// Gives the fields the names that the user chose. Throws Error(config) where their number differs.
void rename_fields(std::vector<FieldSpec>& fields, const ReaderSpec& spec);

// Throws Error(data) where `path` gave no record.
void require_records(int64_t records, const std::string& path);

// "404 records from a, b and 2 more"
std::string source_of_files(int64_t records, const std::vector<std::string>& files);

}  // namespace paddle
