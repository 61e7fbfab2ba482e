#include "trainer/job_file.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "layers/registry.h"
#include "trainer/model.h"

namespace paddle {
namespace {

constexpr uint64_t max_job_bytes = 16 << 20;

// The top level as it is written: lists of objects, each read on its own.
struct JobKeys {
  std::string name, cost;
  List inputs, layers, evaluators;
  Names outputs;
  Value optimizer, data;

  void declare(Arguments& a) {
    a.optional("name", name, "of the job, for its readers");
    a.required("inputs", inputs, "the variables that data is fed into");
    a.required("layers", layers, "the network, in order");
    a.required("cost", cost,
               "the layer that is minimised; if it has more than one element, their mean");
    a.optional("outputs", outputs, "layers that an inference model computes");
    a.optional("evaluators", evaluators, "numbers reported beside the cost");
    a.required("optimizer", optimizer, "how parameters are updated");
    a.required("data", data, "where batches come from");
  }
};

JsonArguments split_arguments(const std::string& list) {
  JsonArguments out;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string part = list.substr(at, end - at);
    const size_t equals = part.find('=');
    require(equals != std::string::npos && equals > 0, Error::Kind::config, "--config_args: '",
            part, "' must be name=value");
    out[part.substr(0, equals)] = part.substr(equals + 1);
    at = end + 1;
  }
  return out;
}

void append(Mistakes& to, const Mistakes& from) { to.insert(to.end(), from.begin(), from.end()); }

// An option as the option table reads it.
std::string option_text(const Value& v) {
  const std::string* s = v.as<std::string>();
  return s ? *s : v.is_null() ? "" : value_text(v);
}

// Reads the parts of a job and collects what is wrong with their keys.
class JobReader {
 public:
  JobReader(JobFile& file, Options& options) : file_(file), options_(options) {}

  Mistakes read() {
    const Dict* tree = file_.tree.as<Dict>();
    if (tree == nullptr)
      return {{file_.tree.at,
               text("a job file is one object { … }, found ", describe_value(file_.tree))}};
    for (const Parameter& p : job_parameters()) keys_.push_back(p.name);
    Dict parts;
    for (const auto& [key, value] : *tree)
      if (std::find(keys_.begin(), keys_.end(), key) != keys_.end())
        parts.emplace_back(key, value);
      else
        option(key, value);
    Arguments a(&parts, file_.tree.at);
    JobKeys written;
    written.declare(a);
    append(wrong_, a.mistakes());
    take(written);
    return std::move(wrong_);
  }

 private:
  void option(const std::string& key, const Value& value) {
    const bool known = options_.has(key);
    if (known && (value.as<List>() || value.as<Dict>()))
      return wrong_.push_back(
          {value.at, text(key, " must be one value, found ", describe_value(value))});
    const std::string where = text(file_.path, ":", value.key.line);
    const std::string refused = options_.set_from_file(key, option_text(value), where);
    if (refused.empty()) return;
    const std::string guess = known ? "" : nearest(key, keys_);
    wrong_.push_back(
        {value.key, guess.empty()
                        ? refused
                        : text("'", key, "' is no key of a job (did you mean '", guess, "'?)")});
  }

  // Reads objects one by one; those with mistakes are left out.
  template <class T>
  void objects(const char* key, const List& list, std::vector<T>& to) {
    for (const Value& v : list) {
      Mistakes found;
      T one;
      read_value(v, key, one, found);
      one.at = v.at;
      if (found.empty())
        to.push_back(std::move(one));
      else
        leave_out(v, found);
    }
  }

  void leave_out(const Value& v, const Mistakes& found) {
    append(wrong_, found);
    if (const std::string name = text_of(*v.as<Dict>(), "name"); !name.empty())
      file_.job.left_out.insert(name);
  }

  void take(const JobKeys& written) {
    JobSpec& job = file_.job;
    const Value* cost = find(*file_.tree.as<Dict>(), "cost");
    if (cost && cost->as<std::string>() && cost->as<std::string>()->empty())
      wrong_.push_back({cost->at, "'cost' names no layer"});
    job.name = written.name;
    job.cost = written.cost;
    job.outputs = written.outputs;
    objects("inputs", written.inputs, job.inputs);
    objects("evaluators", written.evaluators, job.evaluators);
    for (const Value& layer : written.layers)
      if (const Mistakes found = check_layer(layer); found.empty())
        job.layers.push_back(layer);
      else
        leave_out(layer, found);
    if (!written.optimizer.is_null()) {
      const Mistakes found = check_optimizer(written.optimizer);
      if (found.empty()) job.optimizer = written.optimizer;
      append(wrong_, found);
    }
    const Mistakes found =
        written.data.is_null() ? Mistakes{} : read_data_keys(written.data, job.data);
    job.has_data = !written.data.is_null() && found.empty();
    append(wrong_, found);
  }

  JobFile& file_;
  Options& options_;
  Names keys_;
  Mistakes wrong_;
};

// Builds what of a job has no mistakes of keys and types, to find what else is wrong with it.
void look_further(const JobFile& file, Mistakes& wrong) {
  const Dict* tree = file.tree.as<Dict>();
  if (tree == nullptr) return;
  for (const char* needed : {"inputs", "layers", "cost", "optimizer", "data"})
    if (const Value* v = find(*tree, needed); v == nullptr || v->is_null()) return;
  append(wrong, find_mistakes(file));
}

}  // namespace

void JobInput::declare(Arguments& a) {
  a.required("name", name, "by which layers and data refer to it");
  a.optional("shape", shape, "of one sample, without it 1; the batch dimension is put in front");
  a.optional("dtype", dtype, "element type: float32, float64, int32, int64, …");
  a.optional("lod_level", lod_level, "1 for sequences: a sample is any number of elements");
  if (shape.rank() == 0) shape = Shape{1};
}

void JobEvaluator::declare(Arguments& a) {
  a.required(
      "type", type,
      "accuracy, classification_error (1 - accuracy), auc (over the whole pass), batch_auc (of the "
      "last batch), log_loss, calibration (mean prediction over mean label) or mean");
  a.optional("name", name, "by which it is reported; without it the type");
  a.optional("input", input,
             "required: scores [N, classes]; for auc probabilities [N, 2]; for mean anything");
  a.optional("label", label,
             "required but for mean: what the input should have been, int64 [N, 1]");
  a.optional("k", k, "accuracy: right if the label is among the k largest");
  a.optional("num_thresholds", num_thresholds, "auc: bins of the probability");
}

std::vector<Parameter> job_parameters() { return parameters_of<JobKeys>(); }

void report(const std::string& file, const Mistakes& mistakes) {
  if (mistakes.empty()) return;
  Mistakes sorted = mistakes;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Mistake& a, const Mistake& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  std::string all;
  for (const Mistake& m : sorted)
    all += text(all.empty() ? "" : "\n", file, ":", m.at.line, ":", m.at.column, ": ", m.what);
  throw Error(Error::Kind::config,
              sorted.size() == 1 ? "" : text(sorted.size(), " mistakes in the job:\n"), all);
}

SourcePlace JobFile::place(const std::string& key) const {
  const Dict* dict = tree.as<Dict>();
  const Value* v = dict ? find(*dict, key) : nullptr;
  return v ? v->at : tree.at;
}

SourcePlace JobFile::place(const std::string& key, size_t i) const {
  const Dict* dict = tree.as<Dict>();
  const Value* v = dict ? find(*dict, key) : nullptr;
  const List* list = v ? v->as<List>() : nullptr;
  return list && i < list->size() ? (*list)[i].at : place(key);
}

JobFile parse_job(const std::string& path, std::string source, const std::string& config_args,
                  Options& options) {
  JobFile file{.path = path, .source = std::move(source)};
  file.tree = parse_json(file.source, path, split_arguments(config_args));
  Mistakes wrong = JobReader(file, options).read();
  if (!wrong.empty()) look_further(file, wrong);
  report(path, wrong);
  return file;
}

JobFile read_job(const std::string& path, const std::string& config_args, Options& options) {
  return parse_job(path, read_file(path, max_job_bytes), config_args, options);
}

}  // namespace paddle
