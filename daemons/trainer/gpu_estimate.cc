#include "trainer/gpu_estimate.h"

#include <algorithm>
#include <cstdio>

#include "exec/gpu.h"

namespace paddle {
namespace {

// By its data sheet: float32 outside of tensor cores, memory, one direction of PCI Express.
struct GpuSheet {
  const char* name;
  double flops, memory, copies;  // per second: operations, bytes, bytes
};
constexpr GpuSheet sheets[] = {
    {"T4 (PCIe 3)", 8.1e12, 300e9, 16e9},
    {"A100 80 GB (PCIe 4)", 19.5e12, 1935e9, 32e9},
};
// Of a kernel that does next to nothing, of the same within a recording and of starting one, of a
// copy of a few bytes, and of the host's waiting for the device; assumptions.
constexpr double launch_seconds = 4e-6, replayed_seconds = 1.5e-6, replay_seconds = 10e-6,
                 copy_seconds = 5e-6, wait_seconds = 10e-6;

DeviceWork work_between(const DeviceWork& before, const DeviceWork& after) {
  return {.launches = after.launches - before.launches,
          .products = after.products - before.products,
          .product_flops = after.product_flops - before.product_flops,
          .uploads = after.uploads - before.uploads,
          .uploaded = after.uploaded - before.uploaded,
          .downloads = after.downloads - before.downloads,
          .downloaded = after.downloaded - before.downloaded,
          .pinned = after.pinned,
          .replays = after.replays - before.replays,
          .replayed = after.replayed - before.replayed,
          .waits = after.waits - before.waits};
}

double millions(uint64_t n) { return static_cast<double>(n) / 1e6; }

void print_sheet(const GpuSheet& g, const DeviceWork& w, uint64_t traffic, int64_t samples) {
  const double launches =
      launch_seconds * static_cast<double>(w.launches + w.products - w.replayed) +
      replayed_seconds * static_cast<double>(w.replayed) +
      replay_seconds * static_cast<double>(w.replays);
  const double products = static_cast<double>(w.product_flops) / g.flops;
  const double memory = static_cast<double>(traffic) / g.memory;
  const double copies = static_cast<double>(w.uploaded + w.downloaded) / g.copies +
                        copy_seconds * static_cast<double>(w.uploads + w.downloads) +
                        wait_seconds * static_cast<double>(w.waits);
  const double largest = std::max({launches, products, memory, copies});
  const char* bound = largest == launches   ? "launches"
                      : largest == products ? "products"
                      : largest == memory   ? "memory"
                                            : "transfer";
  // Launches go on while kernels run; what the host waits for comes behind both.
  const double step = std::max({launches, products, memory}) + copies;
  std::printf("  %-20s %9.3f %9.3f %9.3f %9.3f %9.3f %12.0f  %s\n", g.name, 1e3 * launches,
              1e3 * products, 1e3 * memory, 1e3 * copies, 1e3 * step,
              static_cast<double>(samples) / step, bound);
}

}  // namespace

void estimate_gpu_step(Session& session) {
  session.initialize();
  Reader& data = session.train_data();
  Plan& plan = session.train_plan();
  Batch batch;
  require(data.next(batch), Error::Kind::config, "--dry_run needs a data set of a batch at least");
  const auto one = [&] {
    session.run(plan, batch, session.at.step++, data.position());
    return plan.gpu()->device()->work;
  };
  one();                            // takes parameters there
  const DeviceWork before = one();  // records
  const DeviceWork w = work_between(before, one());
  std::printf("a step of %lld samples asks a GPU for\n", static_cast<long long>(batch.samples));
  const auto count = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("  %llu launches, and %llu matrix products of %.1f million operations\n",
              count(w.launches), count(w.products), millions(w.product_flops));
  std::printf("  %llu of these in %llu recordings, which are started as one\n", count(w.replayed),
              count(w.replays));
  std::printf("  %.3f MB that kernels read and write, at least\n", millions(plan.gpu_traffic()));
  std::printf("  %llu copies to it of %.3f MB, and %llu back of %.3f MB\n", count(w.uploads),
              millions(w.uploaded), count(w.downloads), millions(w.downloaded));
  std::printf("  %llu waits of the host\n", count(w.waits));
  std::printf("  %.3f MB of memory\n", millions(plan.gpu_memory()));
  std::printf(
      "at least, in ms, by data sheets, and %.0f us for a launch, %.1f for one in a recording,\n"
      "%.0f to start one, %.0f for a copy and %.0f for a wait:\n",
      1e6 * launch_seconds, 1e6 * replayed_seconds, 1e6 * replay_seconds, 1e6 * copy_seconds,
      1e6 * wait_seconds);
  std::printf("  %-20s %9s %9s %9s %9s %9s %12s  %s\n", "", "launches", "products", "memory",
              "transfer", "a step", "samples/s", "bound by");
  for (const GpuSheet& g : sheets) print_sheet(g, w, plan.gpu_traffic(), batch.samples);
  std::fflush(stdout);
}

}  // namespace paddle
