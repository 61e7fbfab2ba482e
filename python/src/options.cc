// The option table, for paddle.v2.init(): flags over PADDLE_INIT_* variables over defaults.
#include "options/options.h"

#include "bindings.h"
#include "options/cluster.h"
#include "options/tables.h"
#include "wire/connection.h"

namespace paddle {
namespace {

py::object typed(const Options& options, const Option& row) {
  switch (row.type) {
    case OptionType::flag:
      for (const std::string& word : row.words)
        if (options.says(row.name, word)) return py::str(word);
      return py::bool_(options.flag(row.name));
    case OptionType::integer: return py::int_(options.integer(row.name));
    case OptionType::real: return py::float_(options.real(row.name));
    default: return py::str(options.text(row.name));
  }
}

}  // namespace

void bind_options(py::module_& m) {
  m.def(
      "parse_options",
      [](const std::vector<std::string>& flags, const Environment& environment) {
        Options options = Options::parse(flags, environment, trainer_options());
        settle_local(options);
        py::dict out;
        for (const Option& row : trainer_options()) out[row.name.c_str()] = typed(options, row);
        return out;
      },
      py::arg("flags"), py::arg("environment"),
      "Name -> value, of all options. Throws ConfigError with every problem.");
  m.def(
      "option_environment",
      [](const std::string& name) {
        for (const OptionTable& table : {trainer_options(), pserver_options(), run_rows()})
          for (const Option& row : table)
            if (row.name == name) return row.environment;
        throw Error(Error::Kind::config, "there is no option '", name, "'");
      },
      py::arg("name"),
      "The variables, besides PADDLE_INIT_<NAME>, that give the option, in order.");
  m.def(
      "check_endpoints",
      [](const std::vector<std::string>& endpoints, const std::string& what) {
        for (const std::string& e : endpoints) wire::parse_endpoint(e, what);
      },
      py::arg("endpoints"), py::arg("what"),
      "Throws ConfigError unless each is host:port; `what` names them in the sentence.");
  m.def(
      "parse_cluster",
      [](const std::vector<std::string>& flags, const Environment& environment) {
        const Cluster cluster = cluster_of(Options::parse(flags, environment, trainer_options()));
        py::dict out;
        out["pservers"] = cluster.dense;
        out["trainers"] = cluster.trainers;
        out["trainer_id"] = cluster.trainer_id;
        out["sync"] = cluster.mode == TrainMode::sync;
        return out;
      },
      py::arg("flags"), py::arg("environment"),
      "Where the pservers are and which trainer this is, for the same arguments.");
}

}  // namespace paddle
