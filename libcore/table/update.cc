#include "table/update.h"

#include <algorithm>

#include "base/error.h"
#include "optim/merge.h"

namespace paddle {
namespace {

const optim::Rule& row_rule(const std::string& type) {
  const optim::Rule* rule = optim::find_row_rule(type);
  require(rule != nullptr, Error::Kind::config, "a table has the optimizer '", type,
          "', which does not exist");
  return *rule;
}

float as_float(const optim::Number& n) {
  return std::visit([](auto v) { return static_cast<float>(v); }, n);
}

const float* number_named(const NamedNumbers& numbers, const std::string& name) {
  for (const auto& [given, value] : numbers)
    if (given == name) return &value;
  return nullptr;
}

void check_names(const optim::Rule& rule, const NamedNumbers& settings) {
  for (const auto& [name, value] : settings) {
    bool known = false;
    std::string names;
    for (const optim::Setting& s : rule.settings) {
      known |= s.name == name;
      names += (names.empty() ? "" : ", ") + s.name;
    }
    for (const optim::FirstValue& f : rule.first_values) {
      known |= f.key == name;
      names += (names.empty() ? "" : ", ") + f.key;
    }
    require(known, Error::Kind::config, "the optimizer '", rule.type,
            "' of a table has no setting '", name, "'; it has: ", names.empty() ? "none" : names);
  }
}

}  // namespace

float RowUpdate::RunningPower::at(uint64_t wanted) {
  if (wanted < step) {
    step = 0;
    value = base;
  }
  for (; step < wanted && value != 0; ++step) value *= base;
  step = wanted;
  return value;
}

RowUpdate::RowUpdate(const std::string& type, const NamedNumbers& settings, float l2, int64_t width)
    : rule_(row_rule(type)), l2_(l2), width_(width) {
  check_names(rule_, settings);
  numbers_.assign(rule_.inputs.size(), 0.0f);
  for (const optim::Setting& s : rule_.settings) {
    const float* given = number_named(settings, s.name);
    require(given || !s.required, Error::Kind::config, "the optimizer '", rule_.type,
            "' of a table needs the setting '", s.name, "'");
    numbers_.push_back(given ? *given : as_float(s.fallback));
  }
  for (const optim::Power& p : rule_.powers) {
    const auto place = std::find(rule_.numbers.begin(), rule_.numbers.end(), p.slot);
    const auto base = std::find(rule_.numbers.begin(), rule_.numbers.end(), p.setting);
    const float value = numbers_[static_cast<size_t>(base - rule_.numbers.begin())];
    powers_.push_back({static_cast<size_t>(place - rule_.numbers.begin()), value, value});
  }
  const int states = rule_.f32.states(rule_, numbers_);
  for (int k = 0; k < states; ++k) {
    const std::string& key = rule_.states[static_cast<size_t>(k)].first_key;
    const float* given = key.empty() ? nullptr : number_named(settings, key);
    first_.insert(first_.end(), rule_.state_per_row ? 1 : static_cast<size_t>(width_),
                  given ? *given : 0.0f);
  }
}

void RowUpdate::run(const optim::RowsAt<float>& rows, float learning_rate, uint64_t step) {
  if (rule_.takes_rate) numbers_[0] = learning_rate;
  for (RunningPower& p : powers_) numbers_[p.place] = p.at(step);
  optim::RowsAt<float> decayed = rows;
  if (l2_ != 0) {  // as the ops `scale` and `sum` of the regulariser compute it
    decayed_.resize(static_cast<size_t>(rows.count * width_));
    decayed_at_.resize(static_cast<size_t>(rows.count));
    for (int64_t i = 0; i < rows.count; ++i) {
      float* sum = decayed_.data() + i * width_;
      optim::scale(rows.values[i], width_, l2_, sum);
      optim::add(rows.grads[i], width_, sum);
      decayed_at_[static_cast<size_t>(i)] = sum;
    }
    decayed.grads = decayed_at_.data();
  }
  rule_.f32.rows_at(rule_, numbers_, decayed);
}

}  // namespace paddle
