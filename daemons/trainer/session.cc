#include "trainer/session.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/machine_memory.h"
#include "base/random.h"
#include "base/version.h"
#include "exec/gpu.h"
#include "graph/text.h"
#include "io/program_buffer.h"
#include "options/cluster.h"
#include "trainer/cut_options.h"
#include "trainer/data_source.h"
#include "trainer/evaluator_states.h"
#include "trainer/model_directory.h"
#include "trainer/table_rows.h"

namespace paddle {
namespace {

wire::Mode wire_mode(TrainMode mode) {
  switch (mode) {
    case TrainMode::sync: return wire::Mode::sync;
    case TrainMode::async: return wire::Mode::async;
    case TrainMode::half_async: return wire::Mode::half_async;
    case TrainMode::geo: return wire::Mode::geo;
  }
  return wire::Mode::sync;
}

PsOptions ps_options(const Options& o, const Cluster& cluster, const Names& endpoints,
                     const Model& model) {
  PsOptions out;
  for (const std::string& e : endpoints)
    out.shards.push_back(wire::parse_endpoint(e, "the pserver"));
  out.credentials = wire::client_credentials(credential_files(o));
  out.hello = wire::make_hello(wire::Role::trainer);
  out.hello.job = o.text("job_name");
  out.hello.new_job = o.flag("new_job");
  // The startup program holds what the main one only names: the learning rate.
  out.hello.program = model.digest + program_digest(model.net.startup);
  out.hello.mode = wire_mode(cluster.mode);
  out.hello.trainer = cluster.trainer_id;
  out.hello.trainers = cluster.trainers;
  out.hello.shards = static_cast<uint32_t>(out.shards.size());
  out.hello.takes_id = !cluster.id_given && cluster.trainers > 1;
  out.hello.outline = outline_text(model.net.main) + outline_text(model.net.startup);
  out.peer_timeout = static_cast<double>(o.integer("peer_timeout"));
  out.spin_microseconds = o.integer("spin_microseconds");
  out.shared_memory = o.flag("shared_memory");
  out.queue_size = static_cast<uint64_t>(o.integer("async_queue_size"));
  out.merge_mean = o.text("async_merge") == "mean";
  out.merge_memory = parse_memory(o.text("async_memory"), machine_memory()).value();
  out.geo_steps =
      cluster.mode == TrainMode::geo ? static_cast<uint64_t>(o.integer("geo_steps")) : 0;
  out.rows_ahead = o.flag("rows_ahead");
  out.row_cache = row_cache_options(o);
  out.geo_memory = parse_memory(o.text("geo_memory"), machine_memory()).value();
  return out;
}

// Null for the CPU.
std::shared_ptr<Gpu> gpu_of_job(const Options& options, const Environment& environment) {
  const bool dry_run = options.flag("dry_run");  // counts on the emulated device
  require(!dry_run || options.text("job") == "time", Error::Kind::config,
          "--dry_run is for --job=time: it prints what a step asks of a GPU");
  const bool automatic = options.says("use_gpu", "auto") && !dry_run;
  if (!options.flag("use_gpu") && !automatic && !dry_run) return nullptr;
  if (automatic && options.text("job") == "checkgrad") return nullptr;
  require(options.text("job") != "checkgrad", Error::Kind::config,
          "--job=checkgrad computes on the CPU, in double precision: leave --use_gpu=true away");
  const GpuKind kind =
      dry_run ? GpuKind::emulated : gpu_kind(variable(environment, "PADDLE_CUDA_DEVICE"));
  std::string why;
  const int found = count_gpus(kind, why), count = std::max(1, found);
  if (automatic && found == 0) {
    log_info("computing on the CPU, as there is no GPU to compute on: " + why);
    return nullptr;
  }
  const auto given = static_cast<int>(options.integer("gpu_id"));
  const auto trainer = static_cast<int>(options.integer("trainer_id") % count);
  return open_gpu(
      kind, given < 0 ? trainer : given, "--use_gpu=false",
      {.tf32 = options.flag("gpu_tf32"), .emulated = variable(environment, "PADDLE_EMULATED_GPU")});
}

ExecutorOptions executor_options(const Options& options, const Environment& environment,
                                 Remote* remote) {
  return {.threads = static_cast<int>(options.integer("trainer_count")),
          .plan = {.check_nan_inf = options.flag("check_nan_inf"),
                   .profile = options.flag("show_layer_stat"),
                   .remote = remote,
                   .gpu = gpu_of_job(options, environment),
                   .replay = options.flag("gpu_replay")}};
}

}  // namespace

Session::Session(JobFile file, const Options& options, const Environment& environment,
                 ModelKind kind)
    : options_(options),
      environment_(environment),
      file_(std::move(file)),
      model_(build_model(file_, static_cast<uint32_t>(options.integer("seed")), kind)),
      client_(make_client(kind)),
      steps_(client_ ? std::make_unique<StepProtocol>(*client_, cut_.params, scope_) : nullptr),
      executor_(executor_options(options, environment, client_.get())) {}

std::unique_ptr<PsClient> Session::make_client(ModelKind kind) {
  if (options_.flag("local") || options_.text("job") != "train" || kind != ModelKind::trains)
    return nullptr;
  require(
      !options_.given("seed") || options_.source("seed") != "the clock", Error::Kind::config,
      "--seed=0 takes another seed in every process, and trainers of one job need the same: give "
      "them one");
  const Cluster cluster = cluster_of(options_);
  JobCut made = cut_program(model_.net.main, model_.net.startup, options_, cluster);
  cut_ = std::move(made.cut);
  model_.test.tables = cut_.trainer.tables;  // it looks up the same rows
  const PsOptions ps = ps_options(options_, cluster, made.endpoints, model_);
  for (const std::string& note : cut_.notes) log_info(note);
  log_info("parameters on pservers:\n" + placement_table(cut_, made.endpoints));
  return std::make_unique<PsClient>(cut_, scope_, ps, [this] { initialize(); });
}

const Program& Session::train_program() const { return client_ ? cut_.trainer : model_.net.main; }

// One warning for a job, however many of its parts and trainers are concerned.
void Session::announce(const Reader& reader) {
  const bool warns = reader.generated() && generated_.empty() && is_first();
  if (reader.generated() && generated_.empty()) generated_ = reader.source();
  if (warns)
    log_warn("the data is generated, not real: " + reader.source() +
             "; name real files in the job, or their directory with --data_dir=DIR");
  else
    log_info(reader.source());
}

Reader& Session::train_data() {
  if (!train_data_) {
    const DataShare share =
        client_ ? DataShare{client_->trainer(), client_->trainers()} : DataShare{};
    train_data_ =
        open_data(file_, model_, options_, variable(environment_, "HOME"), Part::train, share);
    announce(*train_data_);
  }
  return *train_data_;
}

int64_t Session::batches_of_pass() {
  const ReaderSpec& d = file_.job.data.spec;
  const int64_t records = std::max<int64_t>(train_data().records(), 0);
  return d.drop_last ? records / d.batch_size : (records + d.batch_size - 1) / d.batch_size;
}

Reader* Session::test_data() {
  if (!test_data_ && has_test_data(file_)) {
    test_data_ = open_data(file_, model_, options_, variable(environment_, "HOME"), Part::test);
    announce(*test_data_);
  }
  return test_data_.get();
}

void Session::initialize() {
  executor_.run(model_.net.startup, scope_);
  load_initial_model(*this);
  if (const auto* files = scope_.find_part<TableFiles>()) {
    take_first_rows(cut_, *files);
    model_.test.tables = cut_.trainer.tables;
  }
}

Names Session::field_names(const Reader& reader) const {
  Names out;
  for (const FieldSpec& f : reader.fields()) out.push_back(f.name);
  return out;
}

Plan& Session::train_plan() {
  if (client_)
    cut_.trainer.random_seed = trainer_seed(model_.net.main.random_seed, client_->trainer());
  return executor_.plan(train_program(), scope_, field_names(train_data()), model_.fetches());
}

Plan& Session::test_plan() {
  return executor_.plan(model_.test, scope_, field_names(*test_data()), model_.fetches());
}

const Session::Outcome& Session::run(Plan& plan, const Batch& batch, uint64_t step,
                                     const Position& end, const Batch* following) {
  for (size_t i = 0; i < batch.fields.size(); ++i) plan.feed(i, batch.fields[i]);
  const auto place = [&] {
    return text("in the batch that ends at record ", end.record, " of pass ", end.pass);
  };
  try {
    if (following != nullptr) plan.announce(following->fields, step + 1);
    plan.run(step);
  } catch (Error& e) {
    if (e.kind() == Error::Kind::data || e.kind() == Error::Kind::numeric)
      e.within("working ", place());
    throw;
  }
  outcome_.cost = read_number(plan.fetched(0).dtype, plan.fetched(0).data);
  size_t numbers = 0;
  for (const Evaluator& e : model_.evaluators) numbers += e.numbers();
  outcome_.values.resize(numbers);
  for (size_t i = 0; i < outcome_.values.size(); ++i)
    outcome_.values[i] = read_number(plan.fetched(i + 1).dtype, plan.fetched(i + 1).data);
  require(std::isfinite(outcome_.cost), Error::Kind::numeric, "the cost is ", outcome_.cost, " ",
          place(),
          ": lower the learning rate, clip gradients (\"gradient_clip\"), or find the first bad op "
          "with --check_nan_inf");
  return outcome_;
}

Names Session::statistics() const {
  Names out;
  for (const auto& op : train_program().global().ops())
    if (op->type == "batch_norm")
      for (const char* slot : {"MeanOut", "VarianceOut"})
        out.insert(out.end(), op->out[slot].begin(), op->out[slot].end());
  return out;
}

void Session::clear_evaluators() {
  for (const Evaluator& e : model_.evaluators)
    for (const std::string& name : e.states) scope_.tensor(name).zero();
}

Meter Session::test() {
  Meter meter(model_.evaluators);
  Reader* reader = test_data();
  if (reader == nullptr) return meter;
  const EvaluatorStates kept(model_.evaluators, scope_);
  clear_evaluators();
  Plan& plan = test_plan();
  Batch batch;
  reader->start_pass(0);
  while (reader->next(batch)) {
    const Outcome& o = run(plan, batch, 0, reader->position());
    meter.add(batch.samples, o.cost, o.values);
  }
  kept.put_back(scope_);
  return meter;
}

}  // namespace paddle
