#include "paddle/cpus.h"

namespace paddle {

std::vector<int> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;  // more than the mask holds
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) out.push_back(cpu);
  return out;
}

std::vector<int> cpu_share(std::span<const int> cpus, size_t index, size_t count, size_t threads) {
  if (count < 2 || cpus.size() / count < threads) return {};
  const size_t begin = index * cpus.size() / count, end = (index + 1) * cpus.size() / count;
  return {cpus.begin() + static_cast<std::ptrdiff_t>(begin),
          cpus.begin() + static_cast<std::ptrdiff_t>(end)};
}

cpu_set_t cpu_mask(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  return set;
}

}  // namespace paddle
