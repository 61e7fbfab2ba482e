// What a job file may hold, printed from the declarations that read it.
#include <iostream>

#include "base/error.h"
#include "base/suggest.h"
#include "layers/registry.h"
#include "trainer/job_file.h"
#include "trainer/trainer.h"

namespace paddle {
namespace {

// A cell of a table: a bar would end it, and a star would slant what follows.
std::string cell(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (c == '|' || c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

void heading(std::ostream& out, const char* title, const char* first) {
  out << "### " << title << "\n\n| " << first
      << " | key | type | default | meaning |\n|---|---|---|---|---|\n";
}

void keys(std::ostream& out, const std::string& prefix, const std::vector<Parameter>& parameters) {
  for (const Parameter& p : parameters) {
    out << "| | `" << prefix << p.name << "` | " << p.type << " | "
        << (p.required ? "required" : cell(p.fallback)) << " | " << cell(p.meaning) << " |\n";
    keys(out, prefix + p.name + ".", p.inner);
  }
}

// The first line names the type, those below it its keys.
void object(std::ostream& out, std::string_view type, std::string_view meaning,
            const std::vector<Parameter>& parameters) {
  if (!type.empty()) out << "| **`" << type << "`** | | | | " << cell(meaning) << " |\n";
  keys(out, "", parameters);
}

template <class Rows>
void rows(std::ostream& out, const char* title, const char* first, const Rows& all) {
  heading(out, title, first);
  for (const auto& row : all)
    if (row.type != "data")
      object(out, row.type, row.meaning, parameters_of(row));  // a job has inputs
}

}  // namespace

int list_layers_main(std::span<const std::string> arguments) {
  require(arguments.empty() || arguments[0] == "--help", Error::Kind::config,
          "it takes no arguments, but got ", listed(arguments));
  std::ostream& out = std::cout;
  heading(out, "The job", "object");
  object(out, "job", "the top of the file, beside options", job_parameters());
  object(out, "inputs", "a variable that data is fed into", parameters_of<JobInput>());
  object(out, "evaluators", "a number reported beside the cost", parameters_of<JobEvaluator>());
  out << "\n";
  heading(out, "Data", "format");
  object(out, "data", "what all formats take", parameters_of<DataKeys>());
  for (const DataFormat& f : data_formats()) {
    Arguments a(nullptr);
    f.declare(a);
    object(out, f.name, f.meaning, a.parameters());
  }
  out << "\n";
  rows(out, "Layers", "layer", layer_rows());
  out << "\n";
  rows(out, "Optimizers", "optimizer", optimizer_rows());
  object(out, "all", "what every optimizer takes beside its own", common_optimizer_parameters());
  out << "\n";
  rows(out, "Schedules", "schedule", schedule_rows());
  out << "\n";
  heading(out, "Initializers", "initializer");
  for (const ObjectRow& row : initializer_rows())
    object(out, row.type, row.meaning, row.parameters);
  out << "\n";
  heading(out, "Parameters and clipping", "object");
  object(out, "param_attr", "a parameter: this object, or its name alone, or false for none",
         param_attr_parameters());
  object(out, "gradient_clip", "limits gradients before the update", clip_parameters());
  out << std::flush;
  return 0;
}

}  // namespace paddle
