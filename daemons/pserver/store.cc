#include "pserver/store.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

namespace paddle {
namespace {

constexpr uint32_t max_slice_id = 1u << 20;

// Overflow is no number of bytes.
uint64_t bytes_of(const KeptVariable& v) {
  uint64_t bytes = size_of(v.dtype);
  for (const int64_t d : v.shape)
    if (d < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes))
      throw Error(Error::Kind::config, "the variable '", v.name, "' has the impossible shape ",
                  v.shape);
  return bytes;
}

void check_variable(const KeptVariable& v, const Var* declared) {
  require(size_of(v.dtype) > 0, Error::Kind::config, "the variable '", v.name,
          "' has an unknown element type (", static_cast<int>(v.dtype), ")");
  require(declared != nullptr, Error::Kind::config, "the variable '", v.name,
          "' is not in the program that came with it");
  require(declared->dtype == v.dtype && declared->shape == v.shape, Error::Kind::config,
          "the variable '", v.name, "' came as ", name_of(v.dtype), " ", v.shape,
          "; the program says ", name_of(declared->dtype), " ", declared->shape);
}

}  // namespace

Store::Store(StoreConfig config, uint32_t trainers, bool sync, bool may_lower)
    : config_(std::move(config)) {
  check();
  check_memory(trainers, sync);
  for (const KeptVariable& v : config_.variables) {
    Variable& variable = scope_.var(v.name);
    variable.tensor = Tensor(v.dtype, v.shape);
    values_.push_back(&variable);
  }
  const SliceOptions options{trainers, sync, may_lower};
  // What a shared block makes for a slice passes through the scope.
  const std::vector<int32_t> shared = shared_blocks();
  for (const int32_t block : shared)
    for (const auto& op : config_.program.block(block).ops())
      for (const std::string& n : op->out.all()) scope_.var(n);
  for (SliceInfo& info : config_.slices) {
    info.place = slices_.size();
    Slice& s = slices_.emplace_back(info, config_.program, scope_, pool_, options);
    if (by_id_.size() <= info.id) by_id_.resize(info.id + 1, nullptr);
    by_id_[info.id] = &s;
  }
  schedule_ = std::make_unique<Schedule>(config_.program, shared, scope_, pool_);
}

const Tensor* Store::find_value(const std::string& name) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (config_.variables[i].name == name) return &values_[i]->tensor;
  return nullptr;
}

void Store::start(uint64_t version) {
  schedule_->start(version);
  for (Slice& s : slices_) s.restart(version);
}

// Blocks that no slice names, after the first one, which holds listen_and_serv alone.
std::vector<int32_t> Store::shared_blocks() const {
  std::vector<int32_t> out;
  for (size_t i = 1; i < config_.program.num_blocks(); ++i) {
    const auto block = static_cast<int32_t>(i);
    const bool used = std::any_of(config_.slices.begin(), config_.slices.end(),
                                  [&](const SliceInfo& s) { return s.block == block; });
    if (!used) out.push_back(block);
  }
  return out;
}

void Store::check() const {
  const Block& global = config_.program.global();
  std::set<std::string> names;
  for (const KeptVariable& v : config_.variables) {
    check_variable(v, global.find(v.name));
    require(names.insert(v.name).second, Error::Kind::config, "the variable '", v.name,
            "' came twice");
  }
  std::set<std::string> slices;
  std::set<uint32_t> ids;
  for (const SliceInfo& s : config_.slices) {
    require(names.count(s.name) == 1, Error::Kind::config, "the slice '", s.name,
            "' is not among the variables that came with it");
    require(slices.insert(s.name).second && ids.insert(s.id).second, Error::Kind::config,
            "the slice '", s.name, "' (id ", s.id, ") came twice");
    require(s.id < max_slice_id, Error::Kind::config, "the slice '", s.name, "' has the id ", s.id,
            "; at most ", max_slice_id, " slices are possible");
    require(s.block > 0 && static_cast<size_t>(s.block) < config_.program.num_blocks(),
            Error::Kind::config, "the slice '", s.name, "' shall be updated by block ", s.block,
            ", and the program has ", config_.program.num_blocks(), " blocks");
    require(config_.program.block(s.block).find(s.grad) != nullptr, Error::Kind::config,
            "the gradient '", s.grad, "' of the slice '", s.name, "' is not in the program");
  }
  check_inputs();
}

// Nothing is read that nobody has written.
void Store::check_inputs() const {
  std::set<std::string> shared;
  for (const KeptVariable& v : config_.variables) shared.insert(v.name);
  const auto walk = [&](int32_t block, std::set<std::string>& known) {
    for (const auto& op : config_.program.block(block).ops()) {
      if ((op->role() & role::dist) != 0) continue;
      for (const std::string& n : op->in.all())
        require(n == empty_name || known.count(n) == 1, Error::Kind::config, "the variable '", n,
                "' is read before anything writes it (", op_text(*op), ")");
      for (const std::string& n : op->out.all()) known.insert(n);
    }
  };
  for (const int32_t block : shared_blocks()) walk(block, shared);
  for (const SliceInfo& s : config_.slices) {
    std::set<std::string> known = shared;
    known.insert(s.grad);
    walk(s.block, known);
  }
}

void Store::check_memory(uint32_t trainers, bool sync) const {
  uint64_t total = 0, slices = 0;
  for (const KeptVariable& v : config_.variables) {
    const uint64_t bytes = bytes_of(v);
    const bool is_slice = std::any_of(config_.slices.begin(), config_.slices.end(),
                                      [&](const SliceInfo& s) { return s.name == v.name; });
    total += bytes;
    if (is_slice) slices += bytes;
    require(total < (uint64_t{1} << 56), Error::Kind::config, "the variables of this shard need ",
            total >> 30, " GiB");
  }
  const uint64_t all = total + slices * (trainers + (sync ? 1 : 0));
  const auto room = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  require(all <= room, Error::Kind::config, "this shard would need ", all >> 20, " MiB (",
          total >> 20, " of parameters and state, ", slices >> 20, " of gradients for each of ",
          trainers, " trainers), and the machine has ", room >> 20,
          "; use more pservers or fewer trainers");
}

}  // namespace paddle
