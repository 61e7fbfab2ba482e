#include "trainer/data_source.h"

#include <algorithm>

#include "base/suggest.h"

namespace paddle {
namespace {

// Each field must fit the input of its name; all that do not are reported at once.
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
  const ReaderSpec& spec = file.job.data.spec;
  return spec.files.empty() || !spec.test_files.empty();
}

void check_data(const JobFile& file) { check_spec(file.job.data.part(false)); }

std::unique_ptr<Reader> open_data(const JobFile& file, const Model& model, const Options& options,
                                  const std::string& home, Part part, const DataShare& share) {
  ReaderSpec spec = file.job.data.part(part == Part::test);
  spec.seed = static_cast<uint64_t>(options.integer("seed"));
  spec.data_dir = options.text("data_dir");
  spec.data_home = options.text("data_home");
  spec.home = home;
  if (spec.field_names.empty()) spec.field_names = model.inputs;
  spec.trainer_id = share.trainer;
  spec.trainer_count = share.trainers;
  const int prefetched = file.job.data.prefetch;
  try {
    std::unique_ptr<Reader> reader = open_reader(spec);
    check_fields(*reader, model, spec.format);
    return prefetched > 0 ? prefetch(std::move(reader), prefetched) : std::move(reader);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::config) throw;
    report(file.path, {{file.place("data"), e.what()}});
    throw;
  }
}

}  // namespace paddle
