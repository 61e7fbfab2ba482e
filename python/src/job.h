// A cut program and what its halves need to run, as Python holds them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bindings.h"
#include "options/options.h"
#include "trainer/step_client.h"
#include "trainer/trainer_pages.h"

namespace paddle {

// A program that was cut. What it was made of stays as it was, whatever happens to the programs.
struct PyCut {
  Program main, startup;
  TranspileOptions options;
  wire::Mode mode = wire::Mode::sync;
  uint64_t geo_steps = 0;
  bool id_given = true;  // else the first pserver chooses one
  Cut cut;

  size_t shard(const std::string& endpoint) const;
};

// Options of a daemon (libcore/options) for a script: variables PADDLE_INIT_<NAME> of the rows that
// concern it, then `flags` by name, then the defaults. Roles and addresses are the script's own.
Options script_options(const OptionTable& table, const std::map<std::string, std::string>& flags);

// Log files of this process as a daemon has them, where PADDLE_INIT_WORKSPACE, PADDLE_INIT_LOG_DIR
// or GLOG_log_dir asks for them; the first call for a program counts.
void begin_script_log(const Options& options, const std::string& program);

// The record of this run as a daemon has it (options/record.h), where it is asked for.
void write_script_record(const Options& options, const std::string& name,
                         const std::string& digest);

// A trainer's part in a job. It begins with the first step, in the scope of that step.
class PyJob : public std::enable_shared_from_this<PyJob> {
 public:
  PyJob(std::shared_ptr<PyCut> cut, std::map<std::string, std::string> flags);

  // Called with the scope's mutex held and without the GIL.
  void begin(const ScopePtr& scope);
  Remote& remote() { return client_->remote(); }
  void run(Plan& plan, const Program& program, const std::function<void()>& feed, int64_t samples,
           const std::function<StepFigures()>& figures) {
    client_->run(plan, program, feed, samples, figures);
  }

  void look_up(Plan& plan, uint64_t step, const std::function<void()>& feed) {
    client_->look_up(plan, step, feed);
  }
  void save_table(const std::string& param, const TableWriter::Sink& sink);
  // The tables that its pservers keep.
  const std::vector<TableSpec>& tables() const { return cut_->cut.trainer.tables; }

  // From Python.
  void collect();
  void close(const ScopePtr& scope);
  std::optional<uint32_t> trainer() const;
  uint64_t step() const { return client_ ? client_->step() : last_step_; }
  bool joined() const { return client_ && client_->joined(); }
  bool closed() const { return closed_; }
  const std::shared_ptr<PyCut>& cut() const { return cut_; }

 private:
  std::shared_ptr<PyCut> cut_;
  std::map<std::string, std::string> flags_;
  ScopePtr scope_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<StepClient> client_;  // from the first step until close()
  std::optional<uint32_t> last_id_;     // of a client that is gone
  uint64_t last_step_ = 0;
  bool closed_ = false;
};

}  // namespace paddle
