#include "pserver/setup.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "io/program_buffer.h"

namespace paddle {
namespace {

constexpr size_t slices_per_step = 256;  // a few milliseconds

Shape shape_of(const wire::ConfiguredVariable& v) {
  require(v.dims.size() <= Shape::max_rank, Error::Kind::config, "the variable '", v.name, "' has ",
          v.dims.size(), " dimensions; at most ", Shape::max_rank, " are possible");
  Shape shape;
  for (const int64_t d : v.dims) shape.append(d);
  return shape;
}

// A value that was loaded for a variable that the job does not have is of another model.
void check_presets(const ShardOptions& options, const StoreConfig& config) {
  for (const auto& [name, value] : options.presets) {
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
  if (options.check) {
    const std::string why = options.check(config);
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

Setup::Setup(const ShardOptions& options, const wire::Configure& c, bool sync, PeerId configurer,
             uint64_t number)
    : id(number),
      configurer_(configurer),
      store_(std::make_unique<Store>(config_of(options, c), sync)) {
  count();
  if (!store_->variables().empty()) return;
  complete_ = true;  // a shard without slices: there are fewer than shards
  configurer_ = no_peer;
  asked.emplace_back(configurer, number);
}

Setup::Setup(Snapshot& s, PeerId asked_by, uint64_t number)
    : snapshot(std::move(s)),
      id(number),
      store_(std::make_unique<Store>(config_of(*snapshot),
                                     snapshot->identity.mode == wire::Mode::sync)),
      complete_(true) {
  for (size_t i = 0; i < snapshot->values.size(); ++i)
    store_->set_value(i, std::move(snapshot->values[i]));
  snapshot->values.clear();
  count();
  if (asked_by != no_peer) asked.emplace_back(asked_by, number);
}

void Setup::count() {
  for (size_t i = 0; i < store_->variables().size(); ++i) expected_ += store_->value(i).bytes();
}

LandingPlace Setup::land(const wire::SetValue& set, uint64_t bulk) {
  landing_ = false;
  if (set.index >= store_->variables().size()) return {};
  const Tensor& t = store_->value(set.index);
  if (set.offset > t.bytes() || bulk > t.bytes() - set.offset) return {};
  landing_ = true;
  return {LandingPlace::Kind::into,
          {static_cast<std::byte*>(t.raw()) + set.offset, static_cast<size_t>(bulk)}};
}

std::string Setup::set_value(uint64_t number, const wire::SetValue& set, uint64_t bulk) {
  if (bulk > 0 && !landing_) {
    const bool known = set.index < store_->variables().size();
    return text(bulk, " bytes from offset ", set.offset, " on do not fit ",
                known
                    ? text("'", store_->variables()[set.index].name, "', which has ",
                           store_->value(set.index).bytes(), " bytes")
                    : text("variable ", set.index, ", and there are ", store_->variables().size()));
  }
  landing_ = false;
  received_ += bulk;
  if (!set.last) return "";
  if (received_ != expected_)
    return text("the first values are incomplete: ", received_, " of ", expected_, " bytes came");
  asked.emplace_back(configurer_, number);
  configurer_ = no_peer;
  complete_ = true;
  return "";
}

bool Setup::proceed() { return store_->build(slices_per_step) && complete_; }

void Setup::take_presets(const ShardOptions& options) {
  for (size_t i = 0; !options.presets.empty() && i < store_->variables().size(); ++i) {
    const auto preset = options.presets.find(store_->variables()[i].name);
    if (preset == options.presets.end()) continue;
    const Tensor& to = store_->value(i);
    std::memcpy(to.raw(), preset->second.raw(), to.bytes());
  }
}

}  // namespace paddle
