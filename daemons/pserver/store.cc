#include "pserver/store.h"

#include <algorithm>
#include <utility>

#include "base/machine_memory.h"

namespace paddle {
namespace {

// Overflow is no number of bytes.
uint64_t bytes_of(const KeptVariable& v) {
  uint64_t bytes = size_of(v.dtype);
  for (const int64_t d : v.shape)
    if (d < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes))
      throw Error(Error::Kind::config, "the variable '", v.name, "' has the impossible shape ",
                  v.shape);
  return bytes;
}

std::string over_limit(uint64_t limit, uint64_t held) {
  return text("its pserver may hold ", memory_text(limit), " (--memory_limit), of which ",
              memory_text(held), " are taken: use more pservers, or raise --memory_limit");
}

}  // namespace

Store::Store(StoreConfig config, bool sync, ByteBudget* budget, bool may_lower)
    : claim_(budget), config_(std::move(config)), options_{sync, may_lower} {
  options_.plan.before_memory = [this](uint64_t bytes) { claim_for_plan(bytes); };
  check_config(config_);
  for (uint32_t i = 0; i < config_.variables.size(); ++i)
    index_.emplace(config_.variables[i].name, i);
  claim_memory();
  values_.reserve(config_.variables.size());
  for (const KeptVariable& v : config_.variables) {
    Variable& variable = scope_.var(v.name);
    variable.tensor = Tensor(v.dtype, v.shape);
    values_.push_back(&variable);
  }
  // What a shared block makes for a slice passes through the scope.
  shared_ = shared_blocks(config_);
  for (const int32_t block : shared_)
    for (const auto& op : config_.program.block(block).ops())
      for (const std::string& n : op->out.all()) scope_.var(n);
  slices_.reserve(config_.slices.size());  // by_id_ points into it
  own_.reserve(config_.slices.size());
}

bool Store::build(size_t count) {
  const auto add = [this](Versioned& part) {
    const uint32_t id = part.info().id;
    if (parts_.by_id.size() <= id) parts_.by_id.resize(id + 1, nullptr);
    parts_.by_id[id] = &part;
    parts_.by_place.push_back(&part);
  };
  for (; count > 0 && slices_.size() < config_.slices.size(); --count) {
    SliceInfo& info = config_.slices[slices_.size()];
    info.place = slices_.size();
    Slice& s = slices_.emplace_back(info, config_.program, scope_, pool_, scratch_, options_);
    add(s);
    std::vector<uint32_t>& own = own_.emplace_back();
    own.push_back(index_.at(info.name));
    for (const std::string& n : s.state())
      if (const auto it = index_.find(n); it != index_.end()) own.push_back(it->second);
  }
  if (slices_.size() < config_.slices.size()) return false;
  for (size_t i = tables_.size(); i < config_.tables.size(); ++i) {
    const TableInfo& info = config_.tables[i];
    const std::string& rate = info.spec.learning_rate;
    tables_.push_back(std::make_unique<TablePart>(
        info, parts_.by_place.size(), rate.empty() ? nullptr : &scope_.var(rate), claim_.budget()));
    add(*tables_.back());
  }
  if (!schedule_)
    schedule_ = std::make_unique<Schedule>(config_.program, shared_, scope_, pool_, options_.plan);
  return true;
}

uint64_t Store::memory() const {
  uint64_t bytes = claim_.bytes();
  for (const auto& t : tables_) bytes += t->claim().bytes();
  return bytes;
}

void Store::give_memory_back() {
  claim_.clear();
  for (const auto& t : tables_) t->claim().clear();
}

void Store::take_memory_again(uint64_t bytes) {
  for (const auto& t : tables_) {
    t->count_memory();
    bytes -= std::min(bytes, t->claim().bytes());
  }
  claim_.add_anyway(bytes);
}

const Tensor* Store::find_value(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &values_[it->second]->tensor;
}

void Store::set_value(size_t index, Tensor value) {
  const KeptVariable& v = config_.variables[index];
  require(value.dtype() == v.dtype && value.shape() == v.shape, Error::Kind::config,
          "the value of '", v.name, "' has another type or shape than the variable");
  values_[index]->tensor = std::move(value);
}

void Store::start(uint64_t version) {
  schedule_->start(version);
  for (Versioned* v : parts_.by_place) v->restart(version);
}

// Any number of trainers needs the same memory: their gradients are added up as they come.
void Store::claim_memory() {
  uint64_t total = 0, slices = 0, largest = 0;
  for (const KeptVariable& v : config_.variables) {
    total += bytes_of(v);
    require(total < (uint64_t{1} << 56), Error::Kind::config, "the variables of this shard need ",
            total >> 30, " GiB");
  }
  for (const SliceInfo& s : config_.slices) {
    const uint64_t bytes = bytes_of(config_.variables[index_.at(s.name)]);
    slices += bytes;
    largest = std::max(largest, bytes);
  }
  pool_sizes_ = pool_sizes(slices, largest);
  const uint64_t gradients = pool_sizes_.total() + (options_.sync ? slices : 0);
  const auto limit = claim_.budget() ? claim_.budget()->limit() : machine_memory();
  const uint64_t held = claim_.budget() ? claim_.budget()->held() : 0;
  if (total + gradients <= limit && claim_.add(total + gradients)) return;
  throw Error(Error::Kind::config, "this shard would need ", memory_text(total + gradients), " (",
              memory_text(total), " of parameters and state, ", memory_text(gradients),
              " for gradients), and ", over_limit(limit, held));
}

void Store::claim_for_plan(uint64_t bytes) {
  const ByteBudget* budget = claim_.budget();
  if (claim_.add(bytes)) return;
  throw Error(Error::Kind::config, "the update of the slices would need ", memory_text(bytes),
              " more, and ", over_limit(budget->limit(), budget->held()));
}

}  // namespace paddle
