#include "trainer/model_directory.h"

#include <filesystem>
#include <set>

#include "base/log.h"
#include "base/version.h"
#include "exec/table_store.h"
#include "io/checkpoint.h"
#include "io/inference_model.h"
#include "io/model_file.h"
#include "trainer/table_rows.h"

namespace paddle {
namespace {

TrainState state_of(Session& session, uint64_t step) {
  TrainState state{.step = step,
                   .pass = session.at.pass,
                   .record = session.at.record,
                   .samples = session.at.samples,
                   .seeds = {static_cast<uint64_t>(session.options().integer("seed"))},
                   .program_digest = session.model().digest};
  state.extra["batch"] = std::to_string(session.at.batch);
  if (const std::string& given = session.options().text("config_args"); !given.empty())
    state.extra["config_args"] = given;
  return state;
}

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// What stands beside the variables: the job, by its name in path.txt, and the program for
// inference.
std::map<std::string, std::string> other_files(Session& session) {
  const std::string job = base_name(session.file().path);
  std::map<std::string, std::string> files = {{job, session.file().source}, {"path.txt", job}};
  const Model& model = session.model();
  if (model.outputs.empty()) return files;
  files["__model__"] =
      write_program(make_inference_model(model.test, needed_inputs(model), model.outputs).program);
  return files;
}

// The sparse tables, of this process or of the pservers.
std::vector<StreamedFile> table_files(Session& session) {
  std::vector<StreamedFile> out;
  if (PsClient* client = session.client()) {
    for (const std::string& name : table_names(session.model().net.main))
      out.push_back({table_file_name(name), [client, name](const TableStore::Sink& write) {
                       client->save_table(name, write);
                     }});
    return out;
  }
  TableStore& store = session.scope().part<TableStore>();
  for (const std::string& name : table_names(session.model().net.main))
    if (store.find(name) != nullptr)
      out.push_back({table_file_name(name),
                     [&store, name](const TableStore::Sink& write) { store.save(name, write); }});
  return out;
}

// A model of another program, or of an older version, has no position to go on from; its parameters
// are loaded all the same.
void take_state(Session& session, const std::optional<TrainState>& state,
                const std::string& directory) {
  session.at = {};
  if (!state) {
    log_warn(directory +
             " has no train_state: its parameters are loaded, training starts at pass 0");
    return;
  }
  if (state->program_digest != session.model().digest)
    log_warn(directory +
             " was trained by another program (layers, optimizer or their settings differ): its "
             "parameters are loaded, and training goes on where it stood");
  session.at = {
      .step = state->step, .pass = state->pass, .record = state->record, .samples = state->samples};
  const auto batch = state->extra.find("batch");
  if (batch != state->extra.end())
    session.at.batch = std::strtoull(batch->second.c_str(), nullptr, 10);
  const auto seed = static_cast<uint64_t>(session.options().integer("seed"));
  if (!state->seeds.empty() && state->seeds[0] != seed)
    log_warn(text("seed is ", seed, ", but ", directory, " was trained with ", state->seeds[0],
                  ": records come in another order from here on"));
}

// Parameters, and what training changes. The rest, a constant learning rate, is what the job says:
// who goes on with another rate must get it.
VarList state_of_training(const Program& main) {
  std::set<std::string> written;
  for (const auto& op : main.global().ops())
    for (const std::string& name : op->out.all()) written.insert(name);
  VarList vars = persistables_of(main);
  std::erase_if(vars, [&](const Var* v) { return !v->param && written.count(v->name) == 0; });
  return vars;
}

// The variables to load; those that the directory lacks by the strategy that the user chose.
VarList variables_to_load(Session& session, const std::string& directory) {
  VarList vars = state_of_training(session.model().net.main);
  const std::string& strategy = session.options().text("load_missing_parameter_strategy");
  if (strategy == "fail") return vars;
  VarList found;
  for (const Var* v : vars) {
    if (is_file(directory + "/" + v->name)) {
      found.push_back(v);
      continue;
    }
    log_warn(text("'", v->name, "' is not in ", directory, ": ",
                  strategy == "zero" ? "set to zero" : "initialised anew"));
    if (strategy == "zero") session.scope().tensor(v->name).zero();
  }
  return found;
}

// "pass-00003", "pass-00003 and pass-00004", "pass-00003 to pass-00011 (9 models)"
std::string names_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return names[0] + " and " + names[1];
  return text(names.front(), " to ", names.back(), " (", names.size(), " models)");
}

// Throws one sentence where the directory lacks variables of this job, or has others of their
// names: one sentence is of more use then than one per variable.
void refuse_other_job(Session& session, const std::string& directory, const VarList& vars) {
  if (const std::string state = directory + "/train_state"; is_file(state))
    if (read_train_state(read_file(state, 64 << 20), state).program_digest ==
        session.model().digest)
      return;  // it is damaged
  std::vector<std::string> wrong;
  for (const Var* v : vars) {
    try {
      load_vars(directory, {v}, [](const std::string&, LoadedValue) {});
    } catch (const Error&) {
      wrong.push_back(v->name);
    }
  }
  if (wrong.size() < 2) return;
  const std::string place = directory + "/path.txt";
  const std::string job = is_file(place) ? " (" + read_file(place, 4096) + ")" : "";
  throw Error(Error::Kind::data, directory, " is a model of another job", job, ": ", wrong.size(),
              " of the ", vars.size(), " variables of ", base_name(session.file().path),
              " are missing there or have another shape, the first is '", wrong.front(),
              "'; give the model of this job, or --load_missing_parameter_strategy=rand to "
              "initialise what is missing");
}

}  // namespace

std::string save_model(Session& session, const std::string& name, uint64_t step) {
  const std::string directory =
      in_workspace(session.options(), session.options().text("save_dir")) + "/" + name;
  save_checkpoint(directory, persistables_of(session.model().net.main), values_of(session.scope()),
                  state_of(session, step), version_block(), other_files(session),
                  table_files(session));
  return directory;
}

Names needed_inputs(const Model& model) {
  Names out;
  const Program needed = model.test.pruned(model.outputs);
  for (const std::string& input : model.inputs)
    if (needed.global().find(input) != nullptr) out.push_back(input);
  return out;
}

std::string job_of_model(const std::string& directory) {
  const std::string name = directory + "/path.txt";
  return is_file(name) ? directory + "/" + read_file(name, 4096) : "";
}

std::string config_args_of_model(const std::string& directory) {
  const std::string name = directory + "/train_state";
  if (!is_file(name)) return "";
  const TrainState state = read_train_state(read_file(name, 64 << 20), name);
  const auto it = state.extra.find("config_args");
  return it == state.extra.end() ? "" : it->second;
}

void remove_model(const std::string& directory) {
  const std::filesystem::path path(directory);
  remove_tree(path.parent_path().string(), path.filename().string());
}

void warn_of_older_models(const Session& session) {
  const Options& o = session.options();
  const std::string directory = in_workspace(o, o.text("save_dir"));
  const std::string first = pass_name(session.at.pass);
  // Saves within the pass to go on with belong to this training.
  const std::string from = session.at.batch > 0 ? pass_name(session.at.pass + 1) : first;
  std::vector<std::string> older;
  for (const std::string& name : list_checkpoints(directory))
    if (name >= from) older.push_back(name);
  if (older.empty()) return;
  const std::string last = pass_name(static_cast<uint64_t>(o.integer("num_passes") - 1));
  log_warn(text(directory, " holds ", names_of(older), " of an earlier run: this run writes ",
                first, first == last ? "" : " to " + last,
                " there, replaces models of these names and leaves the others; give another "
                "--save_dir to keep the runs apart"));
}

void load_model(Session& session, const std::string& directory) {
  const VarList vars = variables_to_load(session, directory);
  std::optional<TrainState> state;
  try {
    state = load_checkpoint(directory, vars, into(session.scope()));
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::data) refuse_other_job(session, directory, vars);
    throw;
  }
  const bool strict = session.options().text("load_missing_parameter_strategy") == "fail";
  const auto begins_anew = [&](const std::string& table) {
    log_warn(text("the table '", table, "' is not in ", directory, ": its rows begin anew"));
  };
  const std::function<void(const std::string&)> missing =
      strict ? std::function<void(const std::string&)>{} : begins_anew;
  const Names tables = table_names(session.model().net.main);
  if (session.client())
    for (const auto& [table, path] : find_table_files(tables, directory, missing))
      session.scope().part<TableFiles>().tables[table] = {path};
  else
    load_tables(session.scope().part<TableStore>(), tables, directory, missing);
  take_state(session, state, directory);
  log_info("loaded " + directory);
}

void load_initial_model(Session& session) {
  const Options& o = session.options();
  if (!o.text("init_model_path").empty())
    return load_model(session, in_workspace(o, o.text("init_model_path")));
  const int64_t start = o.integer("start_pass");
  if (start == 0) return;
  require(!o.text("save_dir").empty(), Error::Kind::config, "--start_pass=", start,
          " needs --save_dir, where the model of pass ", start - 1, " is");
  load_model(session, in_workspace(o, o.text("save_dir")) + "/" +
                          pass_name(static_cast<uint64_t>(start - 1)));
}

}  // namespace paddle
