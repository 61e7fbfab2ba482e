#include <filesystem>
#include <limits>

#include "base/suggest.h"
#include "data/formats.h"

namespace paddle {
namespace {

// Opens the reader of the format's own keys.
OpenReader opener(const ReaderSpec& spec) {
  Arguments a(&spec.keys);
  OpenReader open = data_format(spec.format).declare(a);
  const Mistakes wrong = a.mistakes();
  require(wrong.empty(), Error::Kind::config, spec.format, ": ", mistakes_text(wrong));
  return open;
}

std::string unknown_format(const std::string& name) {
  std::vector<std::string> names;
  for (const DataFormat& format : data_formats()) names.emplace_back(format.name);
  return text("there is no data format '", name, "'", did_you_mean(name, names),
              "; the formats are ", listed(names));
}

const DataFormat* find_format(const std::string& name) {
  for (const DataFormat& format : data_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace

const DataFormat& data_format(const std::string& name) {
  const DataFormat* format = find_format(name);
  require(format != nullptr, Error::Kind::config, format ? "" : unknown_format(name));
  return *format;
}

void DataKeys::declare(Arguments& a) {
  a.required("format", spec.format, "what the files hold: a format below");
  a.optional(
      "files", spec.files,
      "files to train on, as paths or patterns (day_*.gz): plain, gzip, xz or zstd; without them "
      "the known set of the format");
  a.optional("test_files", spec.test_files, "files to test on after each pass");
  a.optional(
      "fields", spec.field_names,
      "the inputs that the format's fields go to, in its order; without it all inputs, in order");
  a.optional("batch_size", spec.batch_size, "samples of a batch");
  a.optional("shuffle", spec.shuffle, "a new order in every pass, by the seed");
  a.optional("drop_last", spec.drop_last, "leave out the short last batch of a training pass");
  a.optional("prefetch", prefetch, "batches read ahead by a thread; 0 reads in place");
  a.optional("window", spec.window,
             "formats of one record per line: records held at a time, a multiple of batch_size; "
             "0 holds all");
  a.optional("skip_bad_lines", spec.skip_bad_lines,
             "formats of one record per line: how many bad lines each trainer leaves out before it "
             "stops; -1 = any number");
  a.optional("reject_file", spec.reject_file,
             "gets the bad lines as place, reason and line, separated by tabs; with several "
             "trainers its name ends in .0, .1, …");
  if (spec.skip_bad_lines < -1)
    a.problem("skip_bad_lines",
              text("skip_bad_lines must be at least -1, found ", spec.skip_bad_lines));
  if (prefetch < 0) a.problem("prefetch", text("prefetch must be at least 0, found ", prefetch));
}

ReaderSpec DataKeys::part(bool test) const {
  ReaderSpec out = spec;
  if (!test) return out;
  out.test = true;
  out.shuffle = out.drop_last = false;
  if (!data_format(spec.format).test_needs_files) out.files = spec.test_files;
  return out;
}

Mistakes read_data_keys(const Value& object, DataKeys& keys) {
  const Dict& dict = *object.as<Dict>();
  Arguments a(&dict, object.at);
  keys.declare(a);
  const size_t common = a.parameters().size();
  const DataFormat* format = find_format(keys.spec.format);
  if (format != nullptr) {
    format->declare(a);
  } else if (const Value* name = find(dict, "format"); name && !keys.spec.format.empty()) {
    return {{name->at, unknown_format(keys.spec.format)}};  // its keys are not known either
  } else {
    for (const DataFormat& f : data_formats()) f.declare(a);  // any format's keys may be meant
  }
  const auto is_common = [&](const std::string& key) {
    for (size_t i = 0; i < common; ++i)
      if (a.parameters()[i].name == key) return true;
    return false;
  };
  for (const auto& [key, value] : dict)
    if (!is_common(key)) keys.spec.keys.emplace_back(key, value);
  Mistakes wrong = a.mistakes();
  for (Mistake& m : wrong) m.what = "data: " + m.what;
  return wrong;
}

void check_spec(const ReaderSpec& spec) {
  opener(spec);
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
  // A mistyped data_dir is an error, not a fallback to generated data.
  std::error_code none;
  require(spec.data_dir.empty() || std::filesystem::is_directory(spec.data_dir, none),
          Error::Kind::io, "there is no directory ", spec.data_dir,
          ", which data_dir names; check the path, or leave --data_dir out to look in "
          "PADDLE_DATA_HOME and ~/.cache/paddle/dataset");
  return opener(spec)(spec);
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
