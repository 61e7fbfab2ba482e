#include "trainer/data_source.h"

#include <cmath>

#include "base/suggest.h"
#include "job_generated.h"

namespace paddle {
namespace {

DType type_or(const std::string& name, DType fallback) {
  return name.empty() ? fallback : dtype_of(name);
}

SvmLabels labels_of(const std::string& name) {
  static const std::vector<std::string> known = {"signs", "classes", "numbers"};
  for (size_t i = 0; i < known.size(); ++i)
    if (name == known[i]) return static_cast<SvmLabels>(i);
  require(name.empty(), Error::Kind::config, "'labels' must be one of ", listed(known), ", found '",
          name, "'", did_you_mean(name, known));
  return SvmLabels::signs;
}

Shape shape_of(const std::vector<int64_t>& dims) { return Shape(std::span<const int64_t>(dims)); }

// What each format has for itself.
void set_format_options(const job::DataT& d, ReaderSpec& spec) {
  spec.image_shape = shape_of(d.image_shape);
  spec.ngram = d.ngram;
  spec.dict_size = d.dict_size;
  spec.min_word_freq = d.min_word_freq;
  spec.dimension = d.dimension;
  spec.index_base = d.index_base;
  spec.labels = labels_of(d.labels);
  spec.classes = d.classes;
  spec.header = d.header;
  if (!std::isnan(d.missing)) spec.missing = d.missing;
  if (!d.separator.empty()) {
    spec.separator = d.separator == "\\t" ? '\t' : d.separator[0];
    require(d.separator.size() == 1 || spec.separator == '\t', Error::Kind::config,
            "'separator' must be one character, found '", d.separator, "'");
  }
  for (const auto& f : d.csv_fields)
    spec.csv_fields.push_back({.name = f->name,
                               .dtype = type_or(f->dtype, DType::f32),
                               .columns = f->columns,
                               .hash = f->hash,
                               .bound = f->bound > 0 ? f->bound : -1});
  for (const auto& s : d.slots)
    spec.slots.push_back({.name = s->name,
                          .dtype = type_or(s->dtype, s->lod_level > 0 ? DType::i64 : DType::f32),
                          .shape = s->shape.empty() ? Shape{1} : shape_of(s->shape),
                          .lod_level = s->lod_level});
}

ReaderSpec spec_of(const job::DataT& d, Part part) {
  ReaderSpec spec;
  spec.format = d.format;
  spec.test = part == Part::test;
  spec.files = spec.test && d.format != "ngram" ? d.test_files : d.files;
  spec.test_files = d.test_files;
  spec.batch_size = d.batch_size;
  spec.shuffle = part == Part::train && d.shuffle;
  spec.drop_last = part == Part::train && d.drop_last;
  spec.window = d.window;
  require(d.prefetch >= 0, Error::Kind::config, "prefetch must be at least 0, found ", d.prefetch);
  set_format_options(d, spec);
  return spec;
}

// Each field must fit the input of its name; all that do not are told at once.
void check_fields(const Reader& reader, const Model& model, const std::string& format) {
  std::string wrong;
  Names fed;
  for (const FieldSpec& f : reader.fields()) {
    fed.push_back(f.name);
    const Var* v = model.net.main.global().find(f.name);
    const auto problem = [&](const auto&... parts) {
      wrong += text("\n  field '", f.name, "' ", parts...);
    };
    if (v == nullptr ||
        std::find(model.inputs.begin(), model.inputs.end(), f.name) == model.inputs.end()) {
      problem("has no input of that name", did_you_mean(f.name, model.inputs));
      continue;
    }
    Shape shape = f.shape;
    if (f.lod_level == 0) {
      shape = Shape{-1};
      for (const int64_t d : f.shape) shape.append(d);
    } else {
      shape = Shape{-1, 1};
    }
    if (f.dtype != v->dtype)
      problem("is ", name_of(f.dtype), ", but the input is ", name_of(v->dtype));
    if (f.lod_level != v->lod_level)
      problem("has lod_level ", f.lod_level, ", but the input has ", v->lod_level);
    else if (!shape.compatible(v->shape))
      problem("has the shape ", shape, ", but the input has ", v->shape);
  }
  for (const std::string& input : model.inputs)
    if (std::find(fed.begin(), fed.end(), input) == fed.end())
      wrong += text("\n  input '", input, "' gets no field");
  require(wrong.empty(), Error::Kind::config, "the fields of the data (format ", format,
          ") do not fit the inputs of the job:", wrong);
}

}  // namespace

bool has_test_data(const JobFile& file) {
  return file.job->data->files.empty() || !file.job->data->test_files.empty();
}

void check_data(const JobFile& file) { check_spec(spec_of(*file.job->data, Part::train)); }

std::unique_ptr<Reader> open_data(const JobFile& file, const Model& model, const Options& options,
                                  const std::string& home, Part part, const DataShare& share) {
  const job::DataT& d = *file.job->data;
  ReaderSpec spec = spec_of(d, part);
  spec.seed = static_cast<uint64_t>(options.integer("seed"));
  spec.data_dir = options.text("data_dir");
  spec.data_home = options.text("data_home");
  spec.home = home;
  spec.field_names = d.fields.empty() ? model.inputs : d.fields;
  spec.trainer_id = share.trainer;
  spec.trainer_count = share.trainers;
  try {
    std::unique_ptr<Reader> reader = open_reader(spec);
    check_fields(*reader, model, d.format);
    return d.prefetch > 0 ? prefetch(std::move(reader), d.prefetch) : std::move(reader);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::config) throw;
    throw Error(e.kind(), file.path, ":", file.tree.find("data")->line, ": ", e.what());
  }
}

}  // namespace paddle
