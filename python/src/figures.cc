#include "figures.h"

namespace paddle {
namespace {

bool is_loss(const Program& program, const std::string& name) {
  for (const auto& op : program.global().ops())
    if ((op->role() & role::loss) != 0 && (op->role() & role::backward) == 0 && op->out.uses(name))
      return true;
  return false;
}

std::optional<double> one_number(const View& v) {
  if (v.data == nullptr || v.is_rows || v.numel() != 1) return std::nullopt;
  if (v.dtype == DType::f32) return *v.as<float>();
  if (v.dtype == DType::f64) return *v.as<double>();
  return std::nullopt;
}

}  // namespace

StepFigures figures_of(const Plan& plan, const Program& program, const Names& fetches) {
  StepFigures out;
  for (size_t i = 0; i < fetches.size(); ++i) {
    const std::optional<double> value = one_number(plan.fetched(i));
    if (!value) continue;
    if (is_loss(program, fetches[i]))
      out.cost = *value;
    else
      out.others.emplace_back(fetches[i], *value);
  }
  return out;
}

int64_t samples_in(std::span<const Tensor> feeds) {
  if (feeds.empty() || feeds[0].shape().rank() == 0) return 0;
  const Lod& lod = feeds[0].lod();
  return lod.empty() ? feeds[0].shape()[0] : static_cast<int64_t>(lod[0].size()) - 1;
}

}  // namespace paddle
