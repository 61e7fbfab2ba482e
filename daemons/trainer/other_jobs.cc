// The jobs test and time: what training made, and what it costs.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/log.h"
#include "base/run_main.h"
#include "io/checkpoint.h"
#include "obs/pass_lines.h"
#include "trainer/model_directory.h"
#include "trainer/train.h"

namespace paddle {
namespace {

// First values would give figures too, and they would mean nothing.
void require_model_to_test(const Options& o) {
  const std::string& save_dir = o.text("save_dir");
  const bool passes = o.integer("test_pass") >= 0;
  require(!passes || !save_dir.empty(), Error::Kind::config,
          "--test_pass needs --save_dir, where the passes are");
  if (passes || !o.text("init_model_path").empty() || o.integer("start_pass") > 0) return;
  const std::vector<std::string> there =
      save_dir.empty() ? std::vector<std::string>{} : list_checkpoints(in_workspace(o, save_dir));
  throw Error(Error::Kind::config, "there is no model to test: give --init_model_path=",
              there.empty() ? "DIR" : in_workspace(o, save_dir) + "/" + there.back(),
              " (one model), or --save_dir=DIR and --test_pass=N (the models from pass-N on)");
}

// A result, on stdout: as the v2 trainer printed it, but on a terminal as people read it.
void print_test(Session& session, int64_t pass) {
  const Meter m = session.test();
  if (log_on_terminal() && ::isatty(STDOUT_FILENO) == 1) {
    const event::TestResult result{pass, m.samples(), m.cost(), m.evaluators()};
    std::printf("%s\n", test_line(result, log_columns()).c_str());
  } else {
    std::printf(" Pass=%lld samples=%lld AvgCost=%s Eval: %s\n", static_cast<long long>(pass),
                static_cast<long long>(m.samples()), number_text(m.cost()).c_str(),
                m.evaluators_text().c_str());
  }
  std::fflush(stdout);
}

}  // namespace

void test_models(Session& session) {
  const Options& o = session.options();
  require(session.test_data() != nullptr, Error::Kind::config,
          "there is nothing to test on: give \"test_files\" in the data of ", session.file().path);
  const int64_t first = o.integer("test_pass");
  require_model_to_test(o);
  session.initialize();
  if (first < 0) {
    print_test(session, session.at.pass > 0 ? static_cast<int64_t>(session.at.pass) - 1 : 0);
  } else {
    for (int64_t p = first; p < o.integer("num_passes") && !stop_signal(); ++p) {
      load_model(session,
                 in_workspace(o, o.text("save_dir")) + "/" + pass_name(static_cast<uint64_t>(p)));
      print_test(session, p);
    }
  }
  if (!session.generated().empty())
    log_warn(text("this test used generated data, and its figures say nothing about real data (",
                  session.generated(), ")"));
}

void measure_time(Session& session) {
  session.initialize();
  Reader& data = session.train_data();
  Plan& plan = session.train_plan();
  const int64_t batches = session.options().integer("time_batches");
  Batch batch;
  uint64_t pass = 0;
  const auto one = [&]() -> int64_t {
    while (!data.next(batch)) data.start_pass(++pass);
    session.run(plan, batch, session.at.step++, data.position());
    return batch.samples;
  };
  for (int64_t i = 0; i < batches / 10 + 1; ++i) one();
  const auto start = std::chrono::steady_clock::now();
  int64_t samples = 0, done = 0;
  for (; done < batches && !stop_signal(); ++done) samples += one();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%lld batches in %.3f s: %.4f ms/batch, %.0f samples/s\n",
              static_cast<long long>(done), seconds, 1e3 * seconds / static_cast<double>(done),
              static_cast<double>(samples) / seconds);
  for (const OpCost& c : plan.profile())
    if (c.calls > 0)
      std::printf("%10.2f us  %s\n", 1e6 * c.seconds / static_cast<double>(c.calls), c.op.c_str());
}

}  // namespace paddle
