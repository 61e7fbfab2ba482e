// The ready jobs on the emulated GPU: the costs of the CPU, batch by batch, also of steps that are
// replayed, and which ops the CPU runs all the same.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "exec/gpu.h"
#include "options/cluster.h"
#include "options/tables.h"
#include "support/quiet_log.h"
#include "trainer/session.h"

using namespace paddle;

namespace gpu_jobs_test {
namespace {

constexpr int steps = 4;

struct Found {
  std::vector<double> costs;
  std::set<std::string> on_cpu;
  uint64_t replays = 0;
};

Found first_costs(const std::string& job, bool gpu) {
  const std::string config = std::string(std::getenv("PADDLE_TEST_SOURCE")) + "/configs/" + job;
  const std::vector<std::string> flags = {"--config=" + config, gpu ? "--use_gpu=true" : ""};
  const Environment environment = {{"PADDLE_CUDA_DEVICE", "emulated"}, {"HOME", "/none"}};
  Options options =
      Options::parse(std::span(flags).first(gpu ? 2 : 1), environment, trainer_options());
  JobFile file = read_job(config, "", options);
  settle_local(options);
  Session session(std::move(file), options, environment, ModelKind::trains);
  session.initialize();
  Reader& data = session.train_data();
  Plan& plan = session.train_plan();
  Batch batch;
  Found out;
  for (uint64_t i = 0; i < steps && data.next(batch); ++i)
    out.costs.push_back(session.run(plan, batch, i, data.position()).cost);
  if (gpu) out.on_cpu = plan.types_on_cpu();
  if (gpu) out.replays = plan.gpu()->device()->work.replays;
  return out;
}

}  // namespace

TEST_CASE("ready jobs on a GPU", "[trainer]") {
  const QuietLog quiet;
  const std::string job = GENERATE(as<std::string>(), "fit_a_line", "recognize_digits_mlp",
                                   "recognize_digits_conv", "word2vec", "word2vec_nce", "ctr_lr",
                                   "ctr_dnn", "wide_deep", "deepfm", "dcn", "din");
  const Found cpu = first_costs(job + ".json", false), gpu = first_costs(job + ".json", true);
  INFO(job);
  REQUIRE(cpu.costs.size() == steps);
  REQUIRE(gpu.costs.size() == steps);
  for (int i = 0; i < steps; ++i) CHECK(gpu.costs[i] == Approx(cpu.costs[i]).epsilon(1e-5));
  // Between the ops of sequences, which run one by one, din has too little to record.
  CHECK((gpu.replays > 0) == (job != "din"));
  // Rows of sparse tables stay with the host: lookups, their gradients and what updates them.
  const std::set<std::string> of_rows = {"adagrad",
                                         "fused_embedding_seq_pool",
                                         "fused_embedding_seq_pool_grad",
                                         "lookup_table",
                                         "lookup_table_grad",
                                         "pull_rows",
                                         "push_rows",
                                         "sgd",
                                         "sum"};
  for (const std::string& type : gpu.on_cpu) {
    INFO(type);
    CHECK(of_rows.count(type) == 1);
  }
}

}  // namespace gpu_jobs_test
