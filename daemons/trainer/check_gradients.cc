#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "trainer/train.h"

namespace paddle {
namespace {

constexpr double tolerance = 1e-4;

// The same program in double precision: central differences drown in the rounding of single
// precision.
Program in_double(Program program) {
  const auto single = static_cast<int32_t>(DType::f32), twice = static_cast<int32_t>(DType::f64);
  Block& block = program.global();
  for (const auto& v : block.vars())
    if (v->dtype == DType::f32) v->dtype = DType::f64;
  for (const auto& op : block.ops())
    for (const char* name : {"dtype", "in_dtype", "out_dtype"})
      if (op->attrs.has(name) && op->attrs.get<int32_t>(name) == single) op->attrs.set(name, twice);
  program.touch();
  return program;
}

Tensor in_double(const Tensor& t) {
  if (t.dtype() != DType::f32) return t;
  Tensor d(DType::f64, t.shape());
  for (int64_t i = 0; i < t.numel(); ++i) d.data<double>()[i] = t.data<float>()[i];
  d.set_lod(t.lod());
  return d;
}

}  // namespace

void check_gradients(Session& session) {
  const Program startup = in_double(session.model().net.startup),
                main = in_double(session.model().net.main);
  const std::string cost = session.model().cost;
  const double eps = session.options().real("checkgrad_eps");
  const int64_t limit = session.options().integer("checkgrad_samples");
  Scope scope;
  Executor exact({.plan = {.fuse = false}});
  exact.run(startup, scope);
  Batch batch;
  require(session.train_data().next(batch), Error::Kind::data,
          "there is no batch to check gradients on");
  Feeds feeds;
  for (size_t i = 0; i < batch.fields.size(); ++i)
    feeds.emplace_back(session.train_data().fields()[i].name, in_double(batch.fields[i]));

  Names gradients;
  for (const ParamGrad& p : session.model().params) gradients.push_back(p.grad);
  // The forward part alone costs half, and leaves evaluators and counters as they are.
  const Program forward = main.pruned({cost});
  Program backward = main.pruned(gradients);
  std::vector<Tensor> analytic;
  {
    Names names;
    for (const auto& f : feeds) names.push_back(f.first);
    Plan& plan = exact.plan(backward, scope, names, gradients);
    for (size_t i = 0; i < feeds.size(); ++i) plan.feed(i, feeds[i].second);
    plan.run(0);
    for (size_t i = 0; i < gradients.size(); ++i) analytic.push_back(plan.fetch(i));
  }
  double worst = 0;
  std::string worst_name;
  for (size_t p = 0; p < analytic.size(); ++p) {
    const std::string& name = session.model().params[p].param;
    const Tensor& value = scope.tensor(name);
    const int64_t n = value.numel(), count = limit == 0 ? n : std::min(limit, n);
    const RandomStream pick(1, p);
    double largest = 0;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = count == n ? k
                                    : static_cast<int64_t>(pick.below(static_cast<uint64_t>(k),
                                                                      static_cast<uint64_t>(n)));
      double& v = value.data<double>()[at];
      const double old = v;
      v = old + eps;
      const double up = exact.run(forward, scope, feeds, {cost})[0].data<double>()[0];
      v = old - eps;
      const double down = exact.run(forward, scope, feeds, {cost})[0].data<double>()[0];
      v = old;
      const double numeric = (up - down) / (2 * eps), given = analytic[p].data<double>()[at];
      largest = std::max(largest, std::abs(numeric - given) /
                                      std::max({1e-3, std::abs(numeric), std::abs(given)}));
    }
    std::printf("%-24s %lld of %lld elements checked, largest relative difference %.3g\n",
                name.c_str(), static_cast<long long>(count), static_cast<long long>(n), largest);
    if (largest > worst) {
      worst = largest;
      worst_name = name;
    }
  }
  require(worst <= tolerance, Error::Kind::numeric, "the gradient of '", worst_name,
          "' differs from central differences by ", worst, " (allowed ", tolerance,
          "): a kink (relu, max) within --checkgrad_eps of a value can cause it; try another "
          "--seed or a smaller eps");
}

}  // namespace paddle
