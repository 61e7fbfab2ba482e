#include <filesystem>
#include <limits>

#include "base/suggest.h"
#include "data/formats.h"

namespace paddle {
namespace {

struct Format {
  std::string name;
  std::unique_ptr<Reader> (*open)(const ReaderSpec&);
};

const std::vector<Format>& formats() {
  static const std::vector<Format> all{
      {"uci_housing", open_uci_housing}, {"mnist", open_mnist}, {"ngram", open_ngram},
      {"libsvm", open_libsvm},           {"csv", open_csv},     {"multislot", open_multislot},
  };
  return all;
}

const Format& format_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  throw Error(Error::Kind::config, "there is no data format '", name, "'",
              did_you_mean(name, names), "; known are ", listed(names));
}

}  // namespace

void check_spec(const ReaderSpec& spec) {
  format_of(spec.format);
  const auto config = Error::Kind::config;
  require(spec.batch_size > 0, config, "batch_size must be at least 1, found ", spec.batch_size);
  require(spec.trainer_count > 0 && spec.trainer_id < spec.trainer_count, config, "trainer_id ",
          spec.trainer_id, " is not below trainer_count ", spec.trainer_count);
  require(spec.window >= 0 && spec.window < std::numeric_limits<uint32_t>::max() &&
              spec.window % spec.batch_size == 0,
          config, "window must be 0 or a multiple of batch_size ", spec.batch_size, ", found ",
          spec.window);
}

std::unique_ptr<Reader> open_reader(const ReaderSpec& spec) {
  check_spec(spec);
  // Whoever names a directory does not want made-up data for a slip of the pen.
  std::error_code none;
  require(spec.data_dir.empty() || std::filesystem::is_directory(spec.data_dir, none),
          Error::Kind::io, "there is no directory ", spec.data_dir,
          ", which data_dir names; check the path, or leave --data_dir out to look in "
          "PADDLE_DATA_HOME and ~/.cache/paddle/dataset");
  return format_of(spec.format).open(spec);
}

void rename_fields(std::vector<FieldSpec>& fields, const ReaderSpec& spec) {
  if (spec.field_names.empty()) return;
  require(spec.field_names.size() == fields.size(), Error::Kind::config, "the format ", spec.format,
          " gives ", fields.size(), " fields, but ", spec.field_names.size(),
          " names are given: ", listed(spec.field_names));
  for (size_t i = 0; i < fields.size(); ++i) fields[i].name = spec.field_names[i];
}

void require_records(int64_t records, const std::string& path) {
  require(records > 0, Error::Kind::data, path,
          ": expected at least one record, found none; the file is empty or holds only blanks");
}

std::string source_of_files(int64_t records, const std::vector<std::string>& files) {
  std::string out = text(records, " records from ", files.front());
  if (files.size() > 1) out += text(" and ", files.size() - 1, " more");
  return out;
}

}  // namespace paddle
