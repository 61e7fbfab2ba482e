#include "paddle/compare_runs.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include "base/file.h"
#include "obs/events.h"
#include "paddle/text_table.h"

namespace paddle {
namespace {

std::string result_text(double v) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", v);
  return out;
}

void take_event(const event::Any& any, RunResults& out) {
  if (const auto* e = std::get_if<event::PassEnded>(&any); e != nullptr && e->trainer == 0) {
    out.passes[e->pass]["cost"] = e->cost;
    for (const auto& [name, value] : e->evaluators) out.passes[e->pass][name] = value;
  } else if (const auto* t = std::get_if<event::TestResult>(&any)) {
    out.passes[t->pass]["test cost"] = t->cost;
    for (const auto& [name, value] : t->evaluators) out.passes[t->pass]["test " + name] = value;
  }
}

// The lines --name=value of a record.
std::map<std::string, std::string> recorded_options(const std::string& workspace) {
  std::map<std::string, std::string> out;
  for (const char* name : {"launch", "train", "trainer.0"}) {
    std::ifstream in(workspace + "/job/" + name + ".flags");
    if (!in) continue;
    for (std::string line; std::getline(in, line);) {
      const size_t equals = line.find('=');
      if (line.starts_with("--") && equals != std::string::npos)
        out[line.substr(2, equals - 2)] = line.substr(equals + 1);
    }
    break;
  }
  return out;
}

const double* value_in(const std::map<std::string, double>& values, const std::string& name) {
  const auto at = values.find(name);
  return at == values.end() ? nullptr : &at->second;
}

std::string option_lines(const std::string& name_a, const RunResults& a, const std::string& name_b,
                         const RunResults& b) {
  std::set<std::string> names;
  for (const auto* options : {&a.options, &b.options})
    for (const auto& [name, value] : *options) names.insert(name);
  std::vector<TextRow> rows;
  for (const std::string& name : names) {
    const auto in_a = a.options.find(name), in_b = b.options.find(name);
    const std::string value_a = in_a == a.options.end() ? "(not given)" : in_a->second,
                      value_b = in_b == b.options.end() ? "(not given)" : in_b->second;
    if (value_a != value_b) rows.push_back({name, value_a, value_b});
  }
  return text_table({"OPTION", name_a, name_b}, rows);
}

}  // namespace

std::string event_file_of(const std::string& path) {
  if (is_file(path)) return path;
  const std::string inside = path + "/job/events.jsonl";
  return is_file(inside) ? inside : "";
}

RunResults read_run(const std::string& path) {
  const std::string file = event_file_of(path);
  std::ifstream in(file, std::ios::binary);
  require(static_cast<bool>(in), Error::Kind::io, "cannot read the events of ", path);
  RunResults out;
  for (std::string line; std::getline(in, line);)
    if (const auto event = read_event(line)) take_event(*event, out);
  require(!out.passes.empty(), Error::Kind::data, "there is no pass in the events of '", file,
          "': give the --event_file of a job that has done a pass, or its workspace");
  if (is_directory(path)) out.options = recorded_options(path);
  return out;
}

ModelComparison compare_runs(const std::string& name_a, const RunResults& a,
                             const std::string& name_b, const RunResults& b, double tolerance) {
  std::set<std::string> names;
  std::set<int64_t> passes;
  for (const RunResults* run : {&a, &b})
    for (const auto& [pass, values] : run->passes) {
      passes.insert(pass);
      for (const auto& [name, value] : values) names.insert(name);
    }
  ModelComparison out;
  for (const std::string& name : names) {
    std::vector<TextRow> rows;
    for (const int64_t pass : passes) {
      const auto in_a = a.passes.find(pass), in_b = b.passes.find(pass);
      const double* x = in_a == a.passes.end() ? nullptr : value_in(in_a->second, name);
      const double* y = in_b == b.passes.end() ? nullptr : value_in(in_b->second, name);
      if (x == nullptr && y == nullptr) continue;
      const bool both = x != nullptr && y != nullptr;
      const double apart = both ? std::abs(*x - *y) : 0;
      const bool same = both && (*x == *y || apart <= tolerance);
      out.equal = out.equal && same;
      rows.push_back({std::to_string(pass), x ? result_text(*x) : "-", y ? result_text(*y) : "-",
                      both ? result_text(apart) : "-"});
    }
    out.text += name + "\n" + text_table({"PASS", name_a, name_b, "DIFFERENCE"}, rows);
  }
  out.text += option_lines(name_a, a, name_b, b);
  return out;
}

}  // namespace paddle
