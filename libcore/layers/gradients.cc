// What happens to gradients between the backward pass and the update: clip, then regularise.
#include <map>

#include "layers/layers.h"
#include "layers/optimizers.h"

namespace paddle {
namespace {

using Kind = GradientClip::Kind;

GradientClip clip_of(const Builder& b, const ParamGrad& pg) {
  return b.var(pg.param).param.value_or(ParamInfo{}).clip;
}

bool is_sparse(const Builder& b, const std::string& grad) {
  return b.var(grad).kind == VarKind::selected_rows;
}

// Repeated rows of a sparse gradient added up: only then is its norm that of the dense one.
std::string merged(const Builder& b, const std::string& grad) {
  return unary(b, "merge_selected_rows", grad);
}

std::string squared_norm(const Builder& b, const std::string& grad) {
  std::string dense = grad;
  if (is_sparse(b, grad)) dense = unary(b, "get_tensor_from_selected_rows", merged(b, grad));
  return reduce_sum(b, square(b, dense));
}

// Groups of parameters clipped by their joint norm: min(1, limit / norm) per group.
class GlobalNorms {
 public:
  explicit GlobalNorms(const Builder& b) : b_(b) {}

  void add(const ParamGrad& pg, const GradientClip& clip) {
    Group& g = groups_[clip.group];
    require(g.parts.empty() || g.limit == clip.max, Error::Kind::config, "the parameters '",
            g.first, "' and '", pg.param, "' of the clip group '", clip.group,
            "' have different norms: ", g.limit, " and ", clip.max);
    if (g.parts.empty()) {
      g.limit = clip.max;
      g.first = pg.param;
      g.limit_var = fill_constant(b_, {1}, b_.var(pg.param).dtype, clip.max);
    }
    g.parts.push_back(squared_norm(b_, pg.grad));
  }

  const std::string& factor(const std::string& group) {
    Group& g = groups_[group];
    if (g.factor.empty()) {
      const std::string norm = sqrt(b_, sums(b_, g.parts));
      g.factor = elementwise_div(b_, g.limit_var, elementwise_max(b_, g.limit_var, norm));
    }
    return g.factor;
  }

 private:
  struct Group {
    float limit = 0;
    std::string first, limit_var, factor;
    Names parts;
  };
  const Builder& b_;
  std::map<std::string, Group> groups_;
};

std::string decay_of(const Builder& b, const std::string& param, const Regularizer& r) {
  const std::string out = b.new_name("_generated_var");
  std::string from = param;
  if (r.kind == Regularizer::Kind::l1) {
    b.op({.type = "sign", .in = {{"X", {param}}}, .out = {{"Out", {out}}}});
    from = out;
  }
  b.op({.type = "scale",
        .in = {{"X", {from}}},
        .out = {{"Out", {out}}},
        .attrs = {{"scale", r.coeff}}});
  return out;
}

}  // namespace

std::vector<ParamGrad> append_clip(const Builder& b, const std::vector<ParamGrad>& pairs) {
  GlobalNorms norms(b);
  for (const ParamGrad& pg : pairs) {
    const GradientClip clip = clip_of(b, pg);
    if (clip.kind != Kind::global_norm) continue;
    const OpRoleGuard guard(b.main(), role::optimize, {pg.param, pg.grad});
    norms.add(pg, clip);
  }
  std::vector<ParamGrad> out;
  for (const ParamGrad& pg : pairs) {
    const GradientClip c = clip_of(b, pg);
    const OpRoleGuard guard(b.main(), role::optimize, {pg.param, pg.grad});
    ParamGrad next = pg;
    if (c.kind == Kind::value) next.grad = clip(b, pg.grad, c.min, c.max);
    if (c.kind == Kind::norm) next.grad = clip_by_norm(b, pg.grad, c.max);
    if (c.kind == Kind::global_norm) next.grad = elementwise_mul(b, pg.grad, norms.factor(c.group));
    out.push_back(std::move(next));
  }
  return out;
}

std::vector<ParamGrad> append_regularization(const Builder& b, const std::vector<ParamGrad>& pairs,
                                             const Regularizer& fallback) {
  std::vector<ParamGrad> out;
  for (const ParamGrad& pg : pairs) {
    const Regularizer own = b.var(pg.param).param.value_or(ParamInfo{}).regularizer;
    const Regularizer& r = own.kind == Regularizer::Kind::none ? fallback : own;
    if (r.kind == Regularizer::Kind::none) {
      out.push_back(pg);
      continue;
    }
    const OpRoleGuard guard(b.main(), role::optimize, {pg.param, pg.grad});
    const std::string decay = decay_of(b, pg.param, r);
    // Every row decays, so the sum with a sparse gradient is dense, and a new variable.
    const std::string sum = is_sparse(b, pg.grad) ? pg.grad + "@NEWGRAD@" : pg.grad;
    b.op({.type = "sum", .in = {{"X", {pg.grad, decay}}}, .out = {{"Out", {sum}}}});
    out.push_back({pg.param, sum});
  }
  return out;
}

}  // namespace paddle
