// Optimizers by their descriptions: which keys they take, and an Optimizer of them.
#include "base/suggest.h"
#include "layers/arguments.h"
#include "layers/optimizers.h"
#include "layers/registry.h"

namespace paddle {
namespace {

bool has_key(const optim::Description& d, std::string_view key) {
  for (const optim::Setting& s : d.settings)
    if (s.job_key() == key) return true;
  return false;
}

const optim::Description& description_of(std::string_view type) {
  if (const optim::Description* d = optim::find_description(type)) return *d;
  Names known;
  for (const optim::Description* d : optim::descriptions()) known.push_back(d->type);
  throw Error(Error::Kind::config, "there is no optimizer '", type, "'",
              did_you_mean(std::string(type), known));
}

// The regulariser of the keys l1 and l2. Where the rule has numbers of these names, which mean
// something else, the keys are l1_decay and l2_decay.
void declare_regularization(Arguments& a, Optimizer& o) {
  const bool taken = has_key(*o.rule, "l1");
  const char *name1 = taken ? "l1_decay" : "l1", *name2 = taken ? "l2_decay" : "l2";
  float l1 = 0, l2 = 0;
  a.optional(name1, l1, "adds this times sign(parameter) to the gradient");
  a.optional(name2, l2, "adds this times the parameter to the gradient");
  if (l1 != 0 && l2 != 0) a.problem(text("give ", name1, " or ", name2, ", not both"));
  if (l1 != 0 || l2 != 0) o.regularization = l1 != 0 ? l1_decay(l1) : l2_decay(l2);
}

void read_keys(Optimizer& o, const Dict& keys) {
  Arguments a(&keys);
  declare_optimizer(a, o);
  const Mistakes wrong = a.mistakes();
  require(wrong.empty(), Error::Kind::config, "optimizer ", o.rule->type, ": ",
          mistakes_text(wrong));
}

}  // namespace

Optimizer::Optimizer(const optim::Description& d) : rule(&d), learning_rate(d.learning_rate) {
  Arguments none(nullptr);
  declare_optimizer(none, *this);
}

Optimizer::Optimizer(std::string_view type, LearningRate rate, const Dict& keys)
    : Optimizer(description_of(type)) {
  read_keys(*this, keys);
  learning_rate = std::move(rate);
}

Optimizer::Optimizer(std::string_view type, LearningRate rate, Regularizer decay, const Dict& keys)
    : Optimizer(type, std::move(rate), keys) {
  regularization = decay;
}

void declare_optimizer(Arguments& a, Optimizer& o) {
  a.optional("learning_rate", o.learning_rate.value,
             "positive, unless a schedule gives the rate alone");
  a.optional("name", o.name, "stands in front of the names of the optimizer's state");
  declare_regularization(a, o);
  for (const optim::Setting& s : o.rule->settings)
    std::visit(
        [&](auto value) {
          a.optional(s.job_key(), value, s.meaning);
          o.attrs.set(s.name, value);
        },
        s.job_default());
  for (const optim::FirstValue& v : o.rule->first_values)
    a.optional(v.key, o.first_values.try_emplace(v.key, v.fallback).first->second, v.meaning);
}

std::span<const OptimizerRow> optimizer_rows() {
  static const std::vector<OptimizerRow> rows = [] {
    std::vector<OptimizerRow> out;
    for (const optim::Description* d : optim::descriptions())
      out.push_back({d->type, d->meaning, d});
    return out;
  }();
  return rows;
}

}  // namespace paddle
