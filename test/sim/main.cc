// sim [--seed=N] [--count=N] [--seeds=N,N,…] [--trace] [--plans] [--kinds=cut,silence,…]: runs
// simulated jobs, each from one seed, and names those in which something did not hold. --trace
// prints the events; of one that fails, those with the fewest faults. --plans only prints what
// would happen.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/log.h"
#include "sim/history.h"

using namespace paddle;
using namespace paddle::sim;

namespace {

struct Words {
  uint64_t seed = 1, count = 1000;
  std::vector<uint64_t> seeds;  // these, where there are some
  bool traces = false, plans = false;
  std::vector<FaultKind> kinds;
};

FaultKind kind_of(std::string_view word) {
  for (size_t k = 0; k < fault_kinds; ++k)
    if (word == name_of(static_cast<FaultKind>(k))) return static_cast<FaultKind>(k);
  throw Error(Error::Kind::config, "there is no fault '", std::string(word), "'");
}

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    out.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

Words read(int argc, char** argv) {
  Words out;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    const auto value = [&](std::string_view name) {
      if (!word.starts_with(name)) return false;
      word.remove_prefix(name.size());
      return true;
    };
    if (value("--seed=")) {
      out.seed = std::strtoull(word.data(), nullptr, 10);
      out.count = 1;
    } else if (value("--seeds=")) {
      for (const std::string_view one : parts_of(word))
        out.seeds.push_back(std::strtoull(one.data(), nullptr, 10));
    } else if (value("--count=")) {
      out.count = std::strtoull(word.data(), nullptr, 10);
    } else if (word == "--trace") {
      out.traces = true;
    } else if (word == "--plans") {
      out.plans = true;
    } else if (value("--kinds=")) {
      for (const std::string_view one : parts_of(word)) out.kinds.push_back(kind_of(one));
    } else {
      throw Error(Error::Kind::config, "unknown option ", std::string(word));
    }
  }
  if (out.seeds.empty())
    for (uint64_t i = 0; i < out.count; ++i) out.seeds.push_back(out.seed + i);
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const Words words = read(argc, argv);
  const LogOptions quiet{.to_stderr = false, .min_level = 4};
  start_log(quiet);
  uint64_t failed = 0, events = 0;
  for (const uint64_t seed : words.seeds) {
    JobPlan plan = plan_of(seed, words.kinds);
    if (words.plans) {
      std::printf("%s", text_of(plan).c_str());
      continue;
    }
    const Outcome o = run(plan, false);
    events += o.events;
    if (!o.problem.empty()) plan = shortened(plan);
    if (words.traces) {
      std::printf("%s", text_of(plan).c_str());
      start_log({.to_stderr = true, .min_level = 0});
      run(plan, true);
      start_log(quiet);
    }
    if (o.problem.empty()) continue;
    ++failed;
    std::printf("%s  %s\n", text_of(plan).c_str(), run(plan, false).problem.c_str());
    std::fflush(stdout);
  }
  if (words.plans) return 0;
  std::printf(
      "%llu of %llu histories failed, %llu events\n", static_cast<unsigned long long>(failed),
      static_cast<unsigned long long>(words.seeds.size()), static_cast<unsigned long long>(events));
  return failed == 0 ? 0 : 1;
} catch (const Error& e) {
  std::fprintf(stderr, "sim: %s\n", e.what());
  return 2;
}
