#include "trainer/table_rows.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "exec/table_store.h"
#include "io/table_buffer.h"
#include "optim/rule.h"
#include "table/checksum.h"
#include "table/partition.h"

namespace paddle {
namespace {

const SavedTable* saved_in(const Scope& scope, const std::string& param) {
  const auto* files = scope.find_part<TableFiles>();
  if (files == nullptr) return nullptr;
  const auto it = files->tables.find(param);
  return it == files->tables.end() ? nullptr : &it->second;
}

class ArrayRows final : public FirstRowsSource {
 public:
  ArrayRows(PartFormat format, const TablePlace& place, uint32_t clock, TableArrays arrays)
      : FirstRowsSource(std::move(format), place, clock), arrays_(std::move(arrays)) {}

 private:
  bool add() override {
    while (id_ < arrays_.height() &&
           shard_of(static_cast<uint64_t>(id_), place_.parts) != place_.part)
      ++id_;
    if (id_ == arrays_.height()) return false;
    arrays_.get_row(static_cast<uint64_t>(id_++), out_, clock_);
    return true;
  }
  TableArrays arrays_;
  int64_t id_ = 0;
};

class FileRows final : public FirstRowsSource {
 public:
  FileRows(PartFormat format, const TablePlace& place, uint32_t clock, const SavedTable& saved)
      : FirstRowsSource(std::move(format), place, clock), in_(saved.open()) {}

 private:
  bool add() override {
    while (at_ == part_.rows.size()) {
      if (!in_.next(chunk_)) return false;
      part_ = read_part(chunk_, out_.format());
      at_ = 0;
    }
    const std::byte* row = part_.rows.data() + at_;
    at_ += part_.head.row_bytes;
    if (shard_of(head_of(row)->id, place_.parts) == place_.part) out_.add(row);
    clock_ = std::max(clock_, part_.head.clock);
    return true;
  }
  TableReader in_;
  std::vector<std::byte> chunk_;
  PartView part_{};
  size_t at_ = 0;
};

}  // namespace

void take_first_rows(Cut& cut, const TableFiles& files) {
  for (TableSpec& spec : cut.trainer.tables) {
    const auto saved = files.tables.find(spec.param);
    if (saved == files.tables.end()) continue;
    const TableSpec there = saved->second.open().head().spec;
    spec.init = there.init;
    spec.init_a = there.init_a;
    spec.init_b = there.init_b;
    spec.seed = there.seed;
  }
}

std::vector<TablePlace> table_places(const Cut& cut) {
  std::vector<TablePlace> out;
  const auto parts = static_cast<uint32_t>(cut.table_shards.size());
  for (size_t t = 0; t < cut.trainer.tables.size(); ++t)
    for (uint32_t k = 0; k < parts; ++k)
      out.push_back({t, cut.table_shards[k],
                     static_cast<uint32_t>(cut.slices.size() + t * parts) + k, k, parts});
  return out;
}

TableArrays::TableArrays(const Cut& cut, size_t table, const Scope& scope) {
  const TableSpec& spec = cut.trainer.tables[table];
  name_ = spec.param;
  height_ = spec.height;
  const auto array = [&](const std::string& name, int64_t width) {
    const Tensor& t = scope.tensor(name);
    require(t.dtype() == DType::f32 && t.numel() == height_ * width, Error::Kind::config,
            "the variable '", name, "' of the sparse table '", name_, "' is ", name_of(t.dtype()),
            t.shape(), ", expected float32[", height_, ", ", width, "]");
    return Array{t, width};
  };
  values_ = array(spec.param, spec.width);
  const optim::Rule* rule = optim::find_row_rule(spec.rule);
  const auto& inputs = cut.table_inputs[table];
  const RowUpdate update(spec.rule, spec.settings, spec.l2, spec.width);
  const int64_t per_state = rule->state_per_row ? 1 : spec.width;
  const auto states = static_cast<size_t>(update.state_numbers() / per_state);
  for (size_t k = 0; k < states; ++k)
    states_.push_back(array(inputs.at(rule->states[k].in), per_state));
  for (const optim::Power& p : rule->powers) {
    const auto var = inputs.find(p.slot);
    const auto base = std::find_if(spec.settings.begin(), spec.settings.end(),
                                   [&](const auto& s) { return s.first == p.setting; });
    if (var != inputs.end() && base != spec.settings.end())
      powers_.push_back({scope.tensor(var->second), base->second});
  }
}

void TableArrays::set_row(const RowLayout& layout, const std::byte* row) {
  const uint64_t id = head_of(row)->id;
  require(id < static_cast<uint64_t>(height_), Error::Kind::protocol, "it sent the row ", id,
          " of the table '", name_, "', which has ", height_, " rows");
  const auto i = static_cast<int64_t>(id);
  layout.read(row, values_.tensor.data<float>() + i * values_.width);
  const float* from = layout.states(row);
  for (const Array& s : states_) {
    std::memcpy(s.tensor.data<float>() + i * s.width, from,
                static_cast<size_t>(s.width) * sizeof(float));
    from += s.width;
  }
}

void TableArrays::get_row(uint64_t id, PartWriter& to, uint32_t clock) const {
  const auto i = static_cast<int64_t>(id);
  std::vector<float> states;
  for (const Array& s : states_) {
    const float* from = s.tensor.data<float>() + i * s.width;
    states.insert(states.end(), from, from + s.width);
  }
  to.add({.id = id, .step = clock, .count = 0, .flags = 0},
         values_.tensor.data<float>() + i * values_.width, states);
}

// Multiplied up, as the optimizer ops do it.
void TableArrays::set_powers(uint64_t version) {
  for (const Power& p : powers_) {
    float value = p.base;
    for (uint64_t i = 0; i < version && value != 0; ++i) value *= p.base;
    if (p.tensor.dtype() == DType::f32) p.tensor.data<float>()[0] = value;
  }
}

std::unique_ptr<FirstRowsSource> FirstRowsSource::of(const Cut& cut, const TablePlace& place,
                                                     const Scope& scope, uint64_t version) {
  const TableSpec& spec = cut.trainer.tables[place.table];
  const auto clock = static_cast<uint32_t>(std::min<uint64_t>(version, 0xffffff00u) + 1);
  const auto format = [&] { return part_format(table_options(spec)); };
  if (spec.first_values_sent)
    return std::make_unique<ArrayRows>(format(), place, clock,
                                       TableArrays(cut, place.table, scope));
  if (const SavedTable* saved = saved_in(scope, spec.param))
    return std::make_unique<FileRows>(format(), place, clock, *saved);
  return nullptr;
}

bool FirstRowsSource::next(std::vector<std::byte>& chunk) {
  out_.begin(chunk, number_++);
  bool more = true;
  while (more && !out_.full()) more = add();
  out_.end(clock_, 0, !more);
  return more;
}

// The rows of a file are known by what it begins with and by its length: all of them would take as
// long to read as to send.
uint64_t hash_first_rows(const Cut& cut, size_t table, const Scope& scope, uint64_t h) {
  const TableSpec& spec = cut.trainer.tables[table];
  h = mix64(h ^ hash_text(to_flatbuffer(spec)));
  if (spec.first_values_sent) {
    const Tensor& t = scope.tensor(spec.param);
    return checksum64(t.raw(), t.bytes(), h);
  }
  const SavedTable* saved = saved_in(scope, spec.param);
  if (saved == nullptr) return h;
  return mix64(h ^ saved->open().head().version ^ mix64(saved->bytes()));
}

}  // namespace paddle
