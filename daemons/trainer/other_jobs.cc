// The jobs test and time: what training made, and what it costs.
#include <chrono>
#include <cstdio>

#include "base/run_main.h"
#include "io/checkpoint.h"
#include "trainer/model_directory.h"
#include "trainer/train.h"

namespace paddle {

void test_models(Session& session) {
  const Options& o = session.options();
  require(session.test_data() != nullptr, Error::Kind::config,
          "there is nothing to test on: give \"test_files\" in the data of ", session.file().path);
  session.initialize();
  const auto report = [&](const std::string& what) {
    const Meter m = session.test();
    std::printf(" %s samples=%lld AvgCost=%s Eval: %s\n", what.c_str(),
                static_cast<long long>(m.samples()), number_text(m.cost()).c_str(),
                m.evaluators_text().c_str());
    std::fflush(stdout);
  };
  const int64_t first = o.integer("test_pass");
  if (first < 0) return report(text("Pass=", session.at.pass > 0 ? session.at.pass - 1 : 0));
  require(!o.text("save_dir").empty(), Error::Kind::config,
          "--test_pass needs --save_dir, where the passes are");
  for (int64_t p = first; p < o.integer("num_passes") && !stop_signal(); ++p) {
    load_model(session,
               in_workspace(o, o.text("save_dir")) + "/" + pass_name(static_cast<uint64_t>(p)));
    report(text("Pass=", p));
  }
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
    session.run(plan, data, batch, session.at.step++);
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
