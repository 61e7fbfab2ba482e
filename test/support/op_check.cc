#include "support/op_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "exec/gpu.h"
#include "graph/backward.h"

namespace paddle::test {
namespace {

struct Built {
  Program program;
  Scope scope;
  Names feeds;
  std::vector<Tensor> tensors;
  Op op;
};

std::string arg_name(const std::string& slot, size_t i) { return slot + "_" + std::to_string(i); }

void build(const OpCase& c, Built& b) {
  Block& block = b.program.global();
  b.program.random_seed = 7;
  Op op{.type = c.type, .attrs = c.attrs};
  for (const auto& [slot, tensors] : c.in) {
    Names names;
    for (size_t i = 0; i < tensors.size(); ++i) {
      names.push_back(arg_name(slot, i));
      block.create({.name = names.back(),
                    .dtype = tensors[i].dtype(),
                    .shape = tensors[i].shape(),
                    .lod_level = static_cast<int32_t>(tensors[i].lod().size())});
      b.feeds.push_back(names.back());
      b.tensors.push_back(tensors[i]);
    }
    op.in.set(slot, names);
  }
  std::vector<std::pair<std::string, int>> outs = c.out;
  if (outs.empty())
    for (const SlotDef& s : op_def(c.type).out) outs.emplace_back(s.name, 1);
  for (const auto& [slot, count] : outs) {
    Names names;
    for (int i = 0; i < count; ++i) {
      // Optimizer outputs are their inputs, updated in place: "ParamOut" is "Param".
      const std::string base = slot.ends_with("Out") ? slot.substr(0, slot.size() - 3) : "";
      names.push_back(!base.empty() && op.in.has(base) && op.in.has("LearningRate")
                          ? op.in[base][static_cast<size_t>(i)]
                          : arg_name(slot, static_cast<size_t>(i)));
    }
    op.out.set(slot, names);
  }
  b.op = block.append(op);
}

// With PADDLE_TEST_DEVICE=emulated all cases run once more on the emulated GPU, with `real` on one.
std::shared_ptr<Gpu> open_test_gpu() {
  const char* device = std::getenv("PADDLE_TEST_DEVICE");
  if (device == nullptr) return nullptr;
  return open_gpu(gpu_kind(device == std::string("real") ? "" : device), 0);
}

const std::shared_ptr<Gpu>& test_gpu() {
  static const std::shared_ptr<Gpu> gpu = open_test_gpu();
  return gpu;
}

// A GPU records what needs nothing of the host, and replays it: the same bits.
void check_replays(Plan& plan, const Built& b, const std::vector<Tensor>& own,
                   const std::vector<Tensor>& want) {
  for (int i = 0; i < 2; ++i) {
    for (size_t k = 0; k < own.size(); ++k)
      if (own[k].bytes() > 0) std::memcpy(own[k].raw(), b.tensors[k].raw(), own[k].bytes());
    plan.run(0);
    for (size_t k = 0; k < want.size(); ++k) {
      const Tensor again = plan.fetch(k);
      require(
          again.shape() == want[k].shape() &&
              (again.bytes() == 0 || std::memcmp(again.raw(), want[k].raw(), again.bytes()) == 0),
          Error::Kind::io, "op ", b.op.type, " gives other bits when it is run again");
    }
  }
}

std::vector<Tensor> run_built(Built& b, const Names& fetches, int threads,
                              const std::shared_ptr<Gpu>& gpu) {
  ThreadPool pool(threads);
  Plan plan(b.program, 0, b.scope, b.feeds, fetches, pool, {.fuse = false, .gpu = gpu});
  // Updates in place must not change the caller's tensors.
  std::vector<Tensor> own;
  for (const Tensor& t : b.tensors) own.push_back(t.clone());
  for (size_t i = 0; i < own.size(); ++i) plan.feed(i, own[i]);
  plan.run(0);
  std::vector<Tensor> out;
  for (size_t i = 0; i < fetches.size(); ++i) out.push_back(plan.fetch(i));
  if (gpu && !op_def(b.op.type).has_effect) check_replays(plan, b, own, out);
  return out;
}

Tensor weights_for(const Tensor& out, uint64_t seed) {
  return random_tensor(out.dtype(), out.shape(), seed);
}

bool is_float(DType t) { return t == DType::f32 || t == DType::f64; }

Results run_on(const std::shared_ptr<Gpu>& gpu, const OpCase& c, int threads) {
  Built b;
  build(c, b);
  const std::vector<Tensor> got = run_built(b, b.op.out.all(), threads, gpu);
  Results r;
  size_t at = 0;
  for (const auto& [slot, names] : b.op.out)
    for (size_t i = 0; i < names.size(); ++i) r[slot].push_back(got[at++]);
  return r;
}

// sum over the outputs of w * out, always on the CPU: what a GPU's gradient is compared with.
double objective(const OpCase& c, const std::vector<std::string>& out_slots) {
  const Results r = run_on(nullptr, c, 1);
  double sum = 0;
  uint64_t seed = 100;
  for (const std::string& slot : out_slots) {
    for (const Tensor& t : r.at(slot)) {
      ++seed;
      if (!is_float(t.dtype())) continue;
      const std::vector<double> v = values_of(t), w = values_of(weights_for(t, seed));
      for (size_t i = 0; i < v.size(); ++i) sum += v[i] * w[i];
    }
  }
  return sum;
}

OpCase in_double(const OpCase& c) {
  OpCase d = c;
  for (auto& [slot, tensors] : d.in)
    for (Tensor& t : tensors)
      if (t.dtype() == DType::f32) t = to_double(t);
  return d;
}

}  // namespace

bool tests_gpu() { return test_gpu() != nullptr; }

Results run_op(const OpCase& c, int threads) { return run_on(test_gpu(), c, threads); }

Results run_grad(const OpCase& c, const std::vector<std::string>& wrt,
                 const std::vector<std::string>& out_slots) {
  Built b;
  build(c, b);
  Block& block = b.program.global();
  const Results forward = run_on(nullptr, c, 1);
  uint64_t seed = 100;
  for (const std::string& slot : out_slots) {
    for (size_t i = 0; i < forward.at(slot).size(); ++i) {
      const Tensor& out = forward.at(slot)[i];
      const std::string name = grad_name(b.op.out[slot][i]);
      ++seed;
      if (!is_float(out.dtype())) continue;
      block.create({.name = name, .dtype = out.dtype(), .shape = out.shape()});
      b.feeds.push_back(name);
      b.tensors.push_back(weights_for(out, seed));
      if (!out.lod().empty()) b.tensors.back().set_lod(out.lod());
    }
  }
  const auto want = [&](const std::string& name) {
    for (const std::string& slot : wrt)
      for (const std::string& n : b.op.in[slot])
        if (n == name) return true;
    return false;
  };
  for (Op& g : grad_ops(b.op, want)) {
    // Outputs that carry no weight have a zero gradient.
    for (const auto& [slot, names] : g.in)
      for (const std::string& n : names)
        if (n != empty_name && block.find(n) == nullptr && n.ends_with("@GRAD"))
          block.append({.type = "fill_zeros_like",
                        .in = {{"X", {n.substr(0, n.size() - 5)}}},
                        .out = {{"Out", {n}}}});
    block.append(std::move(g));
  }
  Names fetches;
  for (const std::string& slot : wrt)
    for (const std::string& n : b.op.in[slot]) fetches.push_back(grad_name(n));
  const std::vector<Tensor> got = run_built(b, fetches, 1, test_gpu());
  Results r;
  size_t at = 0;
  for (const std::string& slot : wrt)
    for (size_t i = 0; i < b.op.in[slot].size(); ++i) r[slot].push_back(got[at++]);
  return r;
}

double grad_error(const OpCase& given, const std::vector<std::string>& wrt,
                  const std::vector<std::string>& out_slots, double eps) {
  const OpCase c = in_double(given);
  const Results analytic = run_grad(c, wrt, out_slots);
  double worst = 0;
  for (const std::string& slot : wrt) {
    const auto it =
        std::find_if(c.in.begin(), c.in.end(), [&](const auto& e) { return e.first == slot; });
    for (size_t i = 0; i < it->second.size(); ++i) {
      const std::vector<double> a = values_of(analytic.at(slot)[i]);
      for (size_t k = 0; k < a.size(); ++k) {
        const auto shifted = [&](double by) {
          OpCase copy = c;
          for (auto& [s, tensors] : copy.in)
            if (s == slot) {
              Tensor own = tensors[i].clone();
              own.data<double>()[k] += by;
              tensors[i] = own;
            }
          return objective(copy, out_slots);
        };
        const double numeric = (shifted(eps) - shifted(-eps)) / (2 * eps);
        worst = std::max(
            worst, std::abs(a[k] - numeric) / std::max({1.0, std::abs(a[k]), std::abs(numeric)}));
      }
    }
  }
  return worst;
}

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  Tensor t(dtype, shape);
  const RandomStream stream(seed, 1);
  with_dtype(dtype, [&](auto z) {
    using T = decltype(z);
    const double first = std::is_unsigned_v<T> ? std::max(low, 0.0) : low;
    for (int64_t i = 0; i < t.numel(); ++i)
      t.data<T>()[i] =
          static_cast<T>(first + (high - first) * stream.uniform_double(static_cast<uint64_t>(i)));
  });
  return t;
}

Tensor to_double(const Tensor& t) {
  Tensor d(DType::f64, t.shape());
  const std::vector<double> v = values_of(t);
  std::copy(v.begin(), v.end(), d.data<double>());
  d.set_lod(t.lod());
  return d;
}

std::vector<double> values_of(const Tensor& t) {
  std::vector<double> out;
  with_dtype(t.dtype(), [&](auto z) {
    for (const auto v : t.values<decltype(z)>()) out.push_back(static_cast<double>(v));
  });
  return out;
}

double difference(const Tensor& a, const std::vector<double>& b) {
  const std::vector<double> v = values_of(a);
  if (v.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    if (v[i] == b[i]) continue;
    const double d = std::abs(v[i] - b[i]) / std::max({1.0, std::abs(v[i]), std::abs(b[i])});
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
  }
  return worst;
}

}  // namespace paddle::test
