#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/version.h"
#include "obs/exchange_times.h"
#include "obs/metrics.h"

namespace paddle {
namespace {

using TrainerIn = const TrainerReport&;
using ProcessIn = const ProcessReport&;
constexpr auto is_gauge = MetricType::gauge, is_counter = MetricType::counter,
               is_histogram = MetricType::histogram;

void put_evaluators(const event::Evaluators& values, Samples& out) {
  for (const auto& [name, value] : values) out.put({{"evaluator", name}}, value);
}

// Passes of a Python script are not known, samples and costs where it feeds and fetches them.
template <class Number>
void put_known(TrainerIn r, Samples& out, Number value, bool known = false) {
  if (!r.script || known) out.put(static_cast<double>(value));
}

// Only where there is a cache of rows.
template <class Number>
void put_cache(Samples& out, const Number& value) {
  if (exchange_times().row_cache.bytes > 0) out.put(static_cast<double>(value));
}

constexpr Metric<TrainerReport> trainer_table[] = {
    {"paddle_trainer_job_info", is_gauge, "trainer, job_name, state", "1 for the present job",
     [](TrainerIn r, Samples& out) {
       out.put({{"trainer", std::to_string(r.trainer)}, {"job_name", r.job}, {"state", r.state}},
               1.0);
     }},
    {"paddle_trainer_trainers", is_gauge, "", "Trainers in the job",
     [](TrainerIn r, Samples& out) { out.put(static_cast<double>(r.trainers)); }},
    {"paddle_trainer_waiting", is_gauge, "", "1 while it has waited for a peer for some seconds",
     [](TrainerIn r, Samples& out) { out.put(r.waiting.empty() ? 0 : 1); }},
    {"paddle_trainer_finished", is_gauge, "", "1 after all passes",
     [](TrainerIn r, Samples& out) { out.put(r.state == "finished" ? 1 : 0); }},
    {"paddle_trainer_step", is_gauge, "", "Batches since the job began; goes back with a rollback",
     [](TrainerIn r, Samples& out) { out.put(static_cast<double>(r.progress.step)); }},
    {"paddle_trainer_pass", is_gauge, "", "Passes that are done",
     [](TrainerIn r, Samples& out) { put_known(r, out, r.progress.pass); }},
    {"paddle_trainer_passes", is_gauge, "", "Number of passes (--num_passes)",
     [](TrainerIn r, Samples& out) { put_known(r, out, r.progress.passes); }},
    {"paddle_trainer_samples", is_gauge, "",
     "Samples since the job began; goes back with a rollback",
     [](TrainerIn r, Samples& out) {
       put_known(r, out, r.progress.samples, r.progress.samples > 0);
     }},
    {"paddle_trainer_samples_per_second", is_gauge, "", "Samples per second, of the last moment",
     [](TrainerIn r, Samples& out) {
       put_known(r, out, r.progress.samples_per_second, r.progress.samples > 0);
     }},
    {"paddle_trainer_cost", is_gauge, "",
     "Cost, mean over the present pass; of a Python script the loss that it fetched last",
     [](TrainerIn r, Samples& out) { put_known(r, out, r.progress.cost, r.fetches_cost); }},
    {"paddle_trainer_evaluator", is_gauge, "evaluator", "Evaluators, mean over the present pass",
     [](TrainerIn r, Samples& out) { put_evaluators(r.progress.evaluators, out); }},
    {"paddle_trainer_test_cost", is_gauge, "", "Cost of the last test; trainer 0 tests",
     [](TrainerIn r, Samples& out) {
       if (r.tested) out.put(r.test.cost);
     }},
    {"paddle_trainer_test_evaluator", is_gauge, "evaluator", "Evaluators of the last test",
     [](TrainerIn r, Samples& out) { put_evaluators(r.test.evaluators, out); }},
    {"paddle_trainer_joins_total", is_counter, "", "Times that this process has joined the job",
     [](TrainerIn r, Samples& out) { out.put({}, r.joins); }},
    {"paddle_trainer_rollbacks_total", is_counter, "", "Times that it went back to a snapshot",
     [](TrainerIn r, Samples& out) { out.put({}, r.rollbacks); }},
    {"paddle_trainer_models_saved_total", is_counter, "", "Models that it saved; trainer 0 saves",
     [](TrainerIn r, Samples& out) { out.put({}, r.saves); }},
    {"paddle_trainer_warnings_total", is_counter, "", "Warnings in its log",
     [](TrainerIn r, Samples& out) { out.put({}, r.warnings); }},
    {"paddle_trainer_errors_total", is_counter, "", "Errors in its log",
     [](TrainerIn r, Samples& out) { out.put({}, r.errors); }},
    {"paddle_trainer_push_seconds", is_histogram, "le",
     "From a gradient that was sent to the values that answer it: in sync the wait for the others "
     "is in it",
     [](TrainerIn, Samples& out) { out.put(exchange_times().push.values()); }},
    {"paddle_trainer_pull_seconds", is_histogram, "le", "From a pull to the values that answer it",
     [](TrainerIn, Samples& out) { out.put(exchange_times().pull.values()); }},
    {"paddle_trainer_queued_gradients", is_gauge, "",
     "Async: gradients of slices that go together, one for each step, that wait until the one "
     "before them is answered (--async_queue_size)",
     [](TrainerIn, Samples& out) { out.put(static_cast<double>(exchange_times().queued)); }},
    {"paddle_trainer_push_rows_seconds", is_histogram, "le",
     "From gradients of rows of a table that were sent to their answer",
     [](TrainerIn, Samples& out) { out.put(exchange_times().push_rows.values()); }},
    {"paddle_trainer_pull_rows_seconds", is_histogram, "le",
     "From a pull of rows of a table to these rows",
     [](TrainerIn, Samples& out) { out.put(exchange_times().pull_rows.values()); }},
    {"paddle_trainer_rows_ahead_total", is_counter, "",
     "Batches whose rows of a table were asked for before their step (--rows_ahead)",
     [](TrainerIn, Samples& out) { out.put(static_cast<double>(exchange_times().rows_ahead)); }},
    {"paddle_trainer_row_cache_hits_total", is_counter, "",
     "Rows of tables that were used again, without asking a shard (--row_cache)",
     [](TrainerIn, Samples& out) { put_cache(out, exchange_times().row_cache.hits); }},
    {"paddle_trainer_row_cache_misses_total", is_counter, "",
     "Rows of tables that a shard was asked for although there is a cache",
     [](TrainerIn, Samples& out) { put_cache(out, exchange_times().row_cache.misses); }},
    {"paddle_trainer_row_cache_rows", is_gauge, "", "Rows of tables in the cache",
     [](TrainerIn, Samples& out) { put_cache(out, exchange_times().row_cache.rows); }},
    {"paddle_trainer_row_cache_bytes", is_gauge, "", "Memory that the cache of rows may use",
     [](TrainerIn, Samples& out) { put_cache(out, exchange_times().row_cache.bytes); }},
};

constexpr Metric<ProcessReport> process_table[] = {
    {"paddle_build_info", is_gauge, "version", "1 for the version of the program",
     [](ProcessIn r, Samples& out) {
       out.put({{"version", r.version}}, 1.0);
     }},
    {"process_cpu_seconds_total", is_counter, "", "CPU time of all threads",
     [](ProcessIn r, Samples& out) { out.put(r.cpu_seconds); }},
    {"process_resident_memory_bytes", is_gauge, "", "Resident memory",
     [](ProcessIn r, Samples& out) { out.put({}, r.resident_bytes); }},
    {"process_open_fds", is_gauge, "", "Open descriptors",
     [](ProcessIn r, Samples& out) { out.put({}, r.open_descriptors); }},
    {"process_max_fds", is_gauge, "", "Most descriptors that it may open",
     [](ProcessIn r, Samples& out) { out.put({}, r.max_descriptors); }},
    {"process_threads", is_gauge, "", "Threads",
     [](ProcessIn r, Samples& out) { out.put({}, r.threads); }},
    {"process_start_time_seconds", is_gauge, "", "When it was started, in seconds since 1970",
     [](ProcessIn r, Samples& out) { out.put(r.start_time); }},
};

uint64_t descriptors_open() {
  DIR* list = ::opendir("/proc/self/fd");
  if (list == nullptr) return 0;
  uint64_t count = 0;
  while (const dirent* entry = ::readdir(list)) count += entry->d_name[0] != '.';
  ::closedir(list);
  return count - 1;  // the one of this list
}

// The fields of /proc/self/stat behind the name of the program; the first is number 3.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string line, word;
  std::getline(file, line);
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::vector<std::string> out;
  while (rest >> word) out.push_back(word);
  return out;
}

double boot_time() {
  timespec boot{}, real{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  ::clock_gettime(CLOCK_REALTIME, &real);
  return static_cast<double>(real.tv_sec - boot.tv_sec) +
         1e-9 * static_cast<double>(real.tv_nsec - boot.tv_nsec);
}

}  // namespace

ProcessReport process_report() {
  ProcessReport out{.version = version_text()};
  timespec cpu{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  out.cpu_seconds = static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec);
  out.open_descriptors = descriptors_open();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) out.max_descriptors = limit.rlim_cur;
  const std::vector<std::string> stat = stat_fields();
  constexpr size_t threads = 20 - 3, start_ticks = 22 - 3, resident_pages = 24 - 3;
  if (stat.size() <= resident_pages) return out;
  out.threads = std::stoull(stat[threads]);
  static const double started = boot_time() + static_cast<double>(std::stoull(stat[start_ticks])) /
                                                  static_cast<double>(::sysconf(_SC_CLK_TCK));
  out.start_time = started;
  out.resident_bytes =
      std::stoull(stat[resident_pages]) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return out;
}

std::span<const Metric<TrainerReport>> trainer_rows() { return trainer_table; }
std::span<const Metric<ProcessReport>> process_rows() { return process_table; }

}  // namespace paddle
