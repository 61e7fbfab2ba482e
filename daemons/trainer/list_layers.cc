// What a job file may hold, printed from the declarations that read it.
#include <unistd.h>

#include <iostream>

#include "base/error.h"
#include "base/suggest.h"
#include "base/terminal.h"
#include "base/wrap.h"
#include "exec/gpu.h"
#include "layers/registry.h"
#include "options/environment.h"
#include "options/program.h"
#include "trainer/job_file.h"
#include "trainer/trainer.h"

namespace paddle {
namespace {

constexpr int page_columns = 121;  // of the pages under docs: lines of at most 120

// Something with a name and keys: a layer, an optimizer, a data format, …
struct Entry {
  std::string name, meaning;
  std::vector<Parameter> parameters;
};

struct Section {
  std::string title;  // a heading
  std::string kind;   // "layer", for the explanation of one
  std::vector<Entry> entries;
};

template <class Rows>
Section section(const std::string& title, const std::string& kind, const Rows& all) {
  Section out{title, kind, {}};
  for (const auto& row : all)
    if (row.type != "data")  // a job has inputs
      out.entries.push_back({std::string(row.type), std::string(row.meaning), parameters_of(row)});
  return out;
}

Section data_section() {
  Section out{
      "Data", "data format", {{"data", "what all formats take", parameters_of<DataKeys>()}}};
  for (const DataFormat& f : data_formats()) {
    Arguments a(nullptr);
    f.declare(a);
    out.entries.push_back({std::string(f.name), std::string(f.meaning), a.parameters()});
  }
  return out;
}

std::vector<Section> all_sections() {
  std::vector<Section> out;
  out.push_back(
      {"The job",
       "object of a job file",
       {{"job", "the top of the file, beside options", job_parameters()},
        {"inputs", "a variable that data is fed into", parameters_of<JobInput>()},
        {"evaluators", "a number reported beside the cost", parameters_of<JobEvaluator>()}}});
  out.push_back(data_section());
  out.push_back(section("Layers", "layer", layer_rows()));
  out.push_back(section("Optimizers", "optimizer", optimizer_rows()));
  out.back().entries.push_back(
      {"all", "what every optimizer takes beside its own", common_optimizer_parameters()});
  out.push_back(section("Schedules", "schedule", schedule_rows()));
  out.push_back({"Initializers", "initializer", {}});
  for (const ObjectRow& row : initializer_rows())
    out.back().entries.push_back({std::string(row.type), std::string(row.meaning), row.parameters});
  out.push_back({"Parameters and clipping",
                 "object of a job file",
                 {{"param_attr", "a parameter: this object, or its name alone, or false for none",
                   param_attr_parameters()},
                  {"gradient_clip", "limits gradients before the update", clip_parameters()}}});
  return out;
}

// A star would slant what follows, and a bracket could open a tag.
std::string escaped(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

// "text, required", "integer, default 1"
std::string type_and_default(const Parameter& p) {
  return p.type + (p.required ? ", required" : ", default " + p.fallback);
}

void page_keys(const std::string& prefix, const std::vector<Parameter>& parameters) {
  for (const Parameter& p : parameters) {
    std::cout << wrapped(text("- `", prefix, p.name, "` (", escaped(type_and_default(p)),
                              "): ", escaped(p.meaning)),
                         page_columns)
              << "\n";
    page_keys(prefix + p.name + ".", p.inner);
  }
}

// A layer's row of a job file, in one line.
std::string example_row(const Section& s, const Entry& e, const LayerExamples& examples) {
  const auto found = examples.find(e.name);
  return s.kind != "layer" || found == examples.end() ? "" : found->second;
}

void print_page(const LayerExamples& examples) {
  bool first = true;
  for (const Section& s : all_sections()) {
    std::cout << (first ? "" : "\n") << "### " << s.title << "\n";
    first = false;
    for (const Entry& e : s.entries) {
      std::cout << "\n"
                << wrapped(text("**`", e.name, "`**: ", escaped(e.meaning)), page_columns, 0)
                << "\n\n";
      page_keys("", e.parameters);
      if (const std::string row = example_row(s, e, examples); !row.empty())
        std::cout << wrapped("- example: `" + row + "`", page_columns) << "\n";
    }
  }
}

void plain_keys(const std::string& prefix, const std::vector<Parameter>& parameters, int columns) {
  for (const Parameter& p : parameters) {
    std::cout << wrapped(text("  ", prefix, p.name, " (", type_and_default(p), "): ", p.meaning),
                         columns, 4)
              << "\n";
    plain_keys(prefix + p.name + ".", p.inner, columns);
  }
}

std::string example(const Section& s, const Entry& e, const LayerExamples& examples, int columns) {
  if (s.kind == "object of a job file" || e.name == "all") return "";
  if (const std::string row = example_row(s, e, examples); !row.empty())
    return "\n" + wrapped("  " + row, columns, 3) + "\n";
  std::string out =
      text("  {\"", s.kind == "data format" ? "format" : "type", "\": \"", e.name, "\"");
  for (const Parameter& p : e.parameters)
    if (p.required) out += text(", \"", p.name, "\": …");
  return "\n" + out + "}\n";
}

void explain(const Section& s, const Entry& e, const LayerExamples& examples) {
  const int columns = ::isatty(STDOUT_FILENO) == 1 ? Terminal(STDOUT_FILENO).columns() : 80;
  std::cout << wrapped(text(e.name, ", ", s.kind, ": ", e.meaning), columns) << "\n"
            << example(s, e, examples, columns) << "\n";
  if (e.parameters.empty()) std::cout << "  (no keys of its own)\n";
  plain_keys("", e.parameters, columns);
}

void explain_all(const std::string& name, const LayerExamples& examples) {
  std::vector<std::string> known;
  bool found = false;
  for (const Section& s : all_sections())
    for (const Entry& e : s.entries) {
      known.push_back(e.name);
      if (e.name != name) continue;
      if (found) std::cout << "\n";
      explain(s, e, examples);
      found = true;
    }
  require(found, Error::Kind::config,
          "there is no layer, optimizer, schedule, initializer or data "
          "format '",
          name, "'", did_you_mean(name, known), "; paddle list_layers lists all");
}

void print_ops(const std::string& title, const std::vector<std::string>& types) {
  std::string line = " ";
  for (const std::string& type : types) line += " " + type;
  std::cout << title << "\n" << wrapped(line, page_columns, 0) << "\n";
}

// The ops of a program, by where they are computed in a job with --use_gpu=true.
void print_gpu_ops() {
  const GpuOps ops = gpu_ops(gpu_kind(variable(current_environment(), "PADDLE_CUDA_DEVICE")));
  const size_t with = ops.with_kernel.size(), all = with + ops.without.size();
  print_ops(text(with, " of ", all, " ops (", 100 * with / all, " %) compute on a GPU:"),
            ops.with_kernel);
  print_ops("The others run on the CPU, between copies:", ops.without);
}

}  // namespace

int list_layers_main(std::span<const std::string> arguments, const LayerExamples& examples) {
  if (answer_usage(arguments,
                   "usage: paddle list_layers [NAME … | --device=cuda]\n"
                   "Prints what a job file may hold: layers, optimizers, schedules, initializers\n"
                   "and data formats with their keys, as Markdown. With names: explains these.\n"
                   "With --device=cuda: prints which ops compute on a GPU.\n",
                   std::cout))
    return 0;
  if (arguments.size() == 1 && arguments[0] == "--device=cuda") {
    print_gpu_ops();
    std::cout << std::flush;
    return 0;
  }
  if (arguments.empty()) print_page(examples);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) std::cout << "\n";
    explain_all(arguments[i], examples);
  }
  std::cout << std::flush;
  return 0;
}

}  // namespace paddle
