#include "pserver/setup.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "io/program_buffer.h"
#include "io/table_buffer.h"
#include "optim/merge.h"

namespace paddle {
namespace {

constexpr size_t slices_per_step = 256;          // a few milliseconds
constexpr size_t large_program = 64u << 10;      // bytes
constexpr uint64_t max_rows_message = 8u << 20;  // bytes of SetRows

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
  for (const auto& [name, rows] : options.own.preset_rows)
    require(std::any_of(config.tables.begin(), config.tables.end(),
                        [&n = name](const TableInfo& t) { return t.spec.param == n; }),
            Error::Kind::config, "this pserver loaded the table '", name,
            "', which the trainer's network does not have");
}

StoreConfig config_of(const ShardOptions& options, const wire::Configure& c,
                      const std::string& program) {
  require(!options.sparse || c.slices.empty(), Error::Kind::config, "port ", options.listen.port,
          " serves sparse tables, and the trainer takes it for one of dense slices; give all "
          "processes the same --port, --ports_num and --ports_num_for_sparse");
  StoreConfig config{.program = from_flatbuffer(program)};
  config.slices.reserve(c.slices.size());
  for (const wire::ConfiguredSlice& s : c.slices)
    config.slices.push_back({.id = s.id, .name = s.name, .grad = s.grad, .block = s.block});
  config.variables.reserve(c.variables.size());
  for (const wire::ConfiguredVariable& v : c.variables)
    config.variables.push_back({v.name, static_cast<DType>(v.dtype), shape_of(v)});
  for (const wire::ConfiguredTable& t : c.tables)
    config.tables.push_back({t.id, t.part, t.parts, table_spec_of(t.spec), t.rows_follow});
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
  for (const SnapshotTable& table : s.tables) config.tables.push_back(table.info);
  return config;
}

}  // namespace

Setup::Setup(const Context& context, std::shared_ptr<const wire::Configure> configure,
             std::shared_ptr<const std::string> program, bool sync, PeerId configurer,
             uint64_t number)
    : id(number), configurer_(configurer) {
  const ShardOptions& options = context.options;
  const bool large = program->size() > large_program;
  const auto make = [&options, sync, c = std::move(configure), p = std::move(program)](Made& made) {
    try {
      made.store = std::make_unique<Store>(config_of(options, *c, *p), sync, options.budget());
    } catch (const Error& e) {
      made.problem = e.what();
    }
  };
  if (!large || !context.background || options.own.check || !options.own.presets.empty()) {
    make(*made_);
    made_->done = true;
    return;
  }
  context.background([make, made = made_] {
    make(*made);
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
  received_bytes_ += bulk;
  if (set.last) end_of_values(number);
  return "";
}

void Setup::end_of_values(uint64_t number) {
  asked.emplace_back(configurer_, number);
  configurer_ = no_peer;
  complete_ = true;
}

// Tables are made with the last slice.
LandingPlace Setup::land(const wire::SetRows& set, uint64_t bulk) {
  landing_ = false;
  if (!made_->done || (made_->store && made_->problem.empty() && !made_->store->built())) {
    held_ = configurer_;
    return {LandingPlace::Kind::hold, {}};
  }
  const TablePart* table = made_->store ? table_of(*made_->store, set.slice) : nullptr;
  if (table == nullptr || !table->table_info().rows_follow || bulk > max_rows_message) return {};
  rows_.resize((static_cast<size_t>(bulk) + 7) / 8);
  landing_ = true;
  return {LandingPlace::Kind::into,
          std::as_writable_bytes(std::span(rows_)).first(static_cast<size_t>(bulk))};
}

std::string Setup::set_value(uint64_t number, const wire::SetRows& set, uint64_t bulk) {
  not_finite_ = false;
  if (bulk > 0) {
    if (!landing_)
      return text(bulk, " bytes are no first rows of part ", set.slice,
                  " of a table of this shard");
    landing_ = false;
    const std::string why =
        table_of(*made_->store, set.slice)
            ->set_rows(std::as_bytes(std::span(rows_)).first(static_cast<size_t>(bulk)));
    if (!why.empty()) return why;
  }
  if (set.last) end_of_values(number);
  return "";
}

bool Setup::can_proceed() const {
  if (!made_->done) return false;
  return !made_->store || !made_->store->built() || (snapshot && !snapshot->tables.empty());
}

std::string Setup::missing() const {
  if (snapshot) return "";
  if (received_bytes_ != expected_bytes_)
    return text("the first values are incomplete: ", received_bytes_, " of ", expected_bytes_,
                " bytes came");
  for (const auto& t : made_->store->tables())
    if (t->table().rows() < t->expected_rows())
      return text("the first values are incomplete: ", t->table().rows(), " of ",
                  t->expected_rows(), " rows of the table '", t->info().name, "' came");
  return "";
}

// The next piece of a table of the snapshot; whether all are loaded.
bool Setup::load_some() {
  if (!snapshot) return true;
  size_t before = 0;
  for (size_t i = 0; i < snapshot->tables.size(); ++i) {
    const SnapshotTable& from = snapshot->tables[i];
    if (loaded_ < before + from.dump->parts()) {
      const bool first = loaded_ == before && !from.dumps.empty();
      made_->store->tables()[i]->load(from.dump->read(loaded_ - before),
                                      first ? from.dumps[0].file.bytes : 0);
      ++loaded_;
      return false;
    }
    before += from.dump->parts();
  }
  return true;
}

PeerId Setup::take_held() { return std::exchange(held_, no_peer); }

std::unique_ptr<Store> Setup::take_store() {
  return made_->done ? std::move(made_->store) : nullptr;
}

bool Setup::proceed() {
  if (!made_->done) return false;
  require(made_->problem.empty(), Error::Kind::config, made_->problem);
  if (!made_->store->build(slices_per_step)) return false;
  if (!std::exchange(counted_, true)) {
    const Store& store = *made_->store;
    for (size_t i = 0; i < store.variables().size(); ++i) expected_bytes_ += store.value(i).bytes();
    const bool rows_come =
        std::any_of(snapshot ? store.tables().end() : store.tables().begin(), store.tables().end(),
                    [](const auto& t) { return t->table_info().rows_follow; });
    if (store.variables().empty() && !rows_come && configurer_ != no_peer) {
      complete_ = true;  // a shard without slices: there are fewer than shards
      asked.emplace_back(std::exchange(configurer_, no_peer), id);
    }
  }
  return load_some() && complete_;
}

void Setup::take_presets(const ShardOptions& options) {
  for (size_t i = 0; !options.own.presets.empty() && i < made_->store->variables().size(); ++i) {
    const auto preset = options.own.presets.find(made_->store->variables()[i].name);
    if (preset == options.own.presets.end()) continue;
    const Tensor& to = made_->store->value(i);
    std::memcpy(to.raw(), preset->second.raw(), to.bytes());
  }
  for (const auto& table : made_->store->tables()) {
    const auto preset = options.own.preset_rows.find(table->table_info().spec.param);
    if (preset == options.own.preset_rows.end()) continue;
    for (const std::vector<std::byte>& chunk : preset->second) table->load(chunk);
  }
}

}  // namespace paddle
