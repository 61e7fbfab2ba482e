#include "pserver/setup.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "io/program_buffer.h"
#include "optim/merge.h"

namespace paddle {
namespace {

constexpr size_t slices_per_step = 256;      // a few milliseconds
constexpr size_t large_program = 64u << 10;  // bytes

Shape shape_of(const wire::ConfiguredVariable& v) {
  require(v.dims.size() <= Shape::max_rank, Error::Kind::config, "the variable '", v.name, "' has ",
          v.dims.size(), " dimensions; at most ", Shape::max_rank, " are possible");
  Shape shape;
  for (const int64_t d : v.dims) shape.append(d);
  return shape;
}

// A value that was loaded for a variable that the job does not have is of another model.
void check_presets(const ShardOptions& options, const StoreConfig& config) {
  for (const auto& [name, value] : options.own.presets) {
    const auto v = std::find_if(config.variables.begin(), config.variables.end(),
                                [&n = name](const KeptVariable& k) { return k.name == n; });
    require(v != config.variables.end(), Error::Kind::config, "this pserver loaded '", name,
            "', which the trainer's network does not have");
    require(v->shape == value.shape() && v->dtype == value.dtype(), Error::Kind::config,
            "this pserver loaded '", name, "' as ", name_of(value.dtype()), value.shape(),
            ", and the trainer's network has ", name_of(v->dtype), v->shape);
  }
}

StoreConfig config_of(const ShardOptions& options, const wire::Configure& c) {
  StoreConfig config{.program = from_flatbuffer(c.program)};
  config.slices.reserve(c.slices.size());
  for (const wire::ConfiguredSlice& s : c.slices)
    config.slices.push_back({.id = s.id, .name = s.name, .grad = s.grad, .block = s.block});
  config.variables.reserve(c.variables.size());
  for (const wire::ConfiguredVariable& v : c.variables)
    config.variables.push_back({v.name, static_cast<DType>(v.dtype), shape_of(v)});
  if (options.own.check) {
    const std::string why = options.own.check(config);
    require(why.empty(), Error::Kind::config, why);
  }
  check_presets(options, config);
  return config;
}

StoreConfig config_of(const Snapshot& s) {
  StoreConfig config{.program = from_flatbuffer(*s.program), .variables = s.variables};
  for (const SnapshotSlice& slice : s.slices) config.slices.push_back(slice.info);
  return config;
}

}  // namespace

Setup::Setup(const Context& context, const wire::Configure& c, bool sync, PeerId configurer,
             uint64_t number)
    : id(number), configurer_(configurer) {
  const ShardOptions& options = context.options;
  const auto make = [&options, sync](const wire::Configure& from, Made& made) {
    try {
      made.store = std::make_unique<Store>(config_of(options, from), sync, options.budget());
    } catch (const Error& e) {
      made.problem = e.what();
    }
  };
  const bool large = c.program.size() > large_program;
  if (!large || !context.background || options.own.check || !options.own.presets.empty()) {
    make(c, *made_);
    made_->done = true;
    return;
  }
  context.background([make, made = made_, from = std::make_shared<const wire::Configure>(c)] {
    make(*from, *made);
    try {
      while (made->store && !made->store->build(slices_per_step)) {
      }
    } catch (const Error& e) {
      made->problem = e.what();
    }
    made->done = true;
  });
}

Setup::Setup(Snapshot& s, ByteBudget* budget) : snapshot(std::move(s)), complete_(true) {
  made_->store = std::make_unique<Store>(config_of(*snapshot),
                                         snapshot->identity.mode == wire::Mode::sync, budget);
  made_->done = true;
  for (size_t i = 0; i < snapshot->values.size(); ++i)
    made_->store->set_value(i, std::move(snapshot->values[i]));
  snapshot->values.clear();
}

namespace {

// Whole numbers of a value, which lies aligned.
bool finite(const Tensor& t, uint64_t offset, uint64_t bytes) {
  if (t.dtype() != DType::f32 && t.dtype() != DType::f64) return true;
  return with_float(t.dtype(), [&](auto z) {
    using T = decltype(z);
    return optim::all_finite<T>(t.data<T>() + offset / sizeof(T),
                                static_cast<int64_t>(bytes / sizeof(T)));
  });
}

}  // namespace

LandingPlace Setup::land(const wire::SetValue& set, uint64_t bulk) {
  landing_ = false;
  if (!made_->done) {
    held_ = configurer_;
    return {LandingPlace::Kind::hold, {}};
  }
  const Store* store = made_->store.get();
  if (store == nullptr || set.index >= store->variables().size()) return {};
  const Tensor& t = store->value(set.index);
  if (set.offset > t.bytes() || bulk > t.bytes() - set.offset) return {};
  const size_t element = size_of(t.dtype());
  if (set.offset % element != 0 || bulk % element != 0) return {};
  landing_ = true;
  return {LandingPlace::Kind::into,
          {static_cast<std::byte*>(t.raw()) + set.offset, static_cast<size_t>(bulk)}};
}

std::string Setup::set_value(uint64_t number, const wire::SetValue& set, uint64_t bulk) {
  if (bulk > 0 && !landing_) {
    const Store& store = *made_->store;
    const bool known = set.index < store.variables().size();
    return text(bulk, " bytes from offset ", set.offset, " on do not fit ",
                known ? text("'", store.variables()[set.index].name, "', which has ",
                             store.value(set.index).bytes(), " bytes, ",
                             size_of(store.value(set.index).dtype()), " each")
                      : text("variable ", set.index, ", and there are ", store.variables().size()));
  }
  landing_ = false;
  not_finite_ = bulk > 0 && !finite(made_->store->value(set.index), set.offset, bulk);
  if (not_finite_)
    return text("the first values of '", made_->store->variables()[set.index].name,
                "' hold NaN or Inf: look at its initializer, or at the model that training starts "
                "from");
  received_ += bulk;
  if (!set.last) return "";
  asked.emplace_back(configurer_, number);
  configurer_ = no_peer;
  complete_ = true;
  return "";
}

bool Setup::can_proceed() const { return made_->done && (!made_->store || !made_->store->built()); }

std::string Setup::missing() const {
  if (snapshot || received_ == expected_) return "";
  return text("the first values are incomplete: ", received_, " of ", expected_, " bytes came");
}

PeerId Setup::take_held() { return std::exchange(held_, no_peer); }

std::unique_ptr<Store> Setup::take_store() {
  return made_->done ? std::move(made_->store) : nullptr;
}

bool Setup::proceed() {
  if (!made_->done) return false;
  require(made_->problem.empty(), Error::Kind::config, made_->problem);
  if (!std::exchange(counted_, true)) {
    const Store& store = *made_->store;
    for (size_t i = 0; i < store.variables().size(); ++i) expected_ += store.value(i).bytes();
    if (store.variables().empty() && configurer_ != no_peer) {
      complete_ = true;  // a shard without slices: there are fewer than shards
      asked.emplace_back(std::exchange(configurer_, no_peer), id);
    }
  }
  return made_->store->build(slices_per_step) && complete_;
}

void Setup::take_presets(const ShardOptions& options) {
  for (size_t i = 0; !options.own.presets.empty() && i < made_->store->variables().size(); ++i) {
    const auto preset = options.own.presets.find(made_->store->variables()[i].name);
    if (preset == options.own.presets.end()) continue;
    const Tensor& to = made_->store->value(i);
    std::memcpy(to.raw(), preset->second.raw(), to.bytes());
  }
}

}  // namespace paddle
