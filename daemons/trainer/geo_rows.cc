#include "trainer/geo_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "exec/table_store.h"

namespace paddle {
namespace {

constexpr uint16_t updated_flag = 1;  // of a base
constexpr size_t index_bytes = 8;     // of a row, with what is not full
constexpr size_t fewest_rows = 1024;

float* floats_of(std::byte* base) { return reinterpret_cast<float*>(base + sizeof(RowHead)); }
const float* floats_of(const std::byte* base) {
  return reinterpret_cast<const float*>(base + sizeof(RowHead));
}

// Shards keep the memory limit, remove rows and round them; here all have 32 bits. A row that was
// not updated since a step is removed by an expiry at that step.
TableOptions local_options(const TableSpec& spec) {
  TableOptions out = table_options(spec);
  out.bf16 = false;
  out.expiry = {.unseen_steps = 1};
  out.memory_limit = 0;
  out.evict = false;
  return out;
}

}  // namespace

GeoRows::GeoRows(const std::vector<TableSpec>& tables, const GeoRowsOptions& options)
    : trainers_(static_cast<float>(options.trainers)), steps_(options.steps) {
  for (const TableSpec& spec : tables) {
    Kept k{.options = local_options(spec)};
    k.budget = std::make_unique<MemoryLimit>();
    const size_t base_bytes = sizeof(RowHead) + static_cast<size_t>(spec.width) * sizeof(float);
    k.bases = std::make_unique<RowStore>(base_bytes, *k.budget);
    k.rows = std::make_unique<Table>(k.options);
    // The row, its base, its difference, and that on its way to the shard.
    const size_t bytes = k.rows->format().layout.row_bytes() + 3 * base_bytes + 2 * index_bytes;
    k.most_rows = std::max<size_t>(fewest_rows, options.memory / tables.size() / bytes);
    kept_.push_back(std::move(k));
  }
}

uint64_t GeoRows::bytes() const {
  uint64_t out = 0;
  for (const Kept& k : kept_)
    out += k.bases->bytes() + k.rows->bytes() + k.ids.capacity() * sizeof(uint64_t) +
           k.values.capacity() * sizeof(float);
  return out;
}

// ---- a step

std::span<const uint64_t> GeoRows::lacking(int32_t table, std::span<const uint64_t> ids) {
  Kept& k = kept(table);
  k.ids.clear();
  k.bases->find_each(ids, sizeof(RowHead), [&](size_t i, const std::byte* base) {
    if (base == nullptr) k.ids.push_back(ids[i]);
  });
  k.values.resize(k.ids.size() * static_cast<size_t>(k.options.width));
  return k.ids;
}

float* GeoRows::incoming(int32_t table) { return kept(table).values.data(); }

void GeoRows::arrived(int32_t table) {
  Kept& k = kept(table);
  const auto width = static_cast<size_t>(k.options.width);
  for (size_t i = 0; i < k.ids.size(); ++i) {
    std::byte* base = k.bases->insert(k.ids[i]);
    head_of(base)->flags = 0;
    std::memcpy(floats_of(base), k.values.data() + i * width, width * sizeof(float));
  }
  k.rows->replace(k.ids, k.values.data(), k.updates);
}

void GeoRows::take(int32_t table, std::span<const uint64_t> ids, float* rows) const {
  kept(table).rows->pull(ids, rows);
}

void GeoRows::replace_changed(int32_t table, std::span<const uint64_t> ids, float* rows) const {
  const Kept& k = kept(table);
  for (size_t i = 0; i < ids.size(); ++i)
    if (const std::byte* base = k.bases->find(ids[i]); base && head_of(base)->flags != 0)
      k.rows->pull(ids.subspan(i, 1), rows + i * static_cast<size_t>(k.options.width));
}

void GeoRows::set_rate(int32_t table, float rate) { kept(table).rate = rate; }

void GeoRows::update(int32_t table, std::span<const uint64_t> ids, const float* grads) {
  Kept& k = kept(table);
  if (step_ < k.next_step) return;
  k.next_step = step_ + 1;
  k.rows->push(ids, grads, k.rate, k.updates++);
  k.bases->find_each(ids, sizeof(RowHead), [&](size_t, std::byte* base) {
    if (base != nullptr) head_of(base)->flags |= updated_flag;
  });
}

bool GeoRows::end_step() {
  in_step_ = false;
  due_ = due_ || (step_ + 1) % steps_ == 0 ||
         std::any_of(kept_.begin(), kept_.end(),
                     [](const Kept& k) { return k.rows->rows() > k.most_rows; });
  return due_;
}

// ---- an exchange

bool GeoRows::changed() const {
  return std::any_of(kept_.begin(), kept_.end(),
                     [](const Kept& k) { return k.updates > k.period_begin; });
}

GeoRows::Differences GeoRows::differences(int32_t table) {
  Kept& k = kept(table);
  const auto width = static_cast<size_t>(k.options.width);
  k.ids.clear();
  std::vector<const float*> bases;
  uint64_t from = 0;
  do {
  } while (k.bases->visit(from, [&](const std::byte* base) {
    if ((head_of(base)->flags & updated_flag) == 0) return;
    k.ids.push_back(uint64_t{head_of(base)->id});  // the head is packed
    bases.push_back(floats_of(base));
  }));
  k.values.resize(k.ids.size() * width);
  k.rows->pull(k.ids, k.values.data());
  for (size_t i = 0; i < bases.size(); ++i)
    for (size_t j = 0; j < width; ++j) {
      float& value = k.values[i * width + j];
      value = (value - bases[i][j]) / trainers_;
    }
  return {k.ids, k.values.data()};
}

void GeoRows::exchanged(uint64_t step) {
  due_ = false;
  next_exchange_ = step + 1;
  for (Kept& k : kept_) {
    k.bases->clear();
    const uint64_t before = k.rows->rows();
    if (before > k.most_rows / 2) forget_some(k);
    forgotten_ += before - k.rows->rows();
    k.period_begin = k.updates;
  }
}

uint64_t GeoRows::take_forgotten(uint64_t step) {
  if (forgotten_ == 0 || step < tell_from_) return 0;
  tell_from_ = step + forgotten_period;
  return std::exchange(forgotten_, 0);
}

// Rows that no batch of this period named go; and all of them, where that is not enough. Their
// memory serves other rows.
void GeoRows::forget_some(Kept& k) {
  Table::Expired gone;
  uint64_t from = 0;
  while (k.rows->expire_part(from, k.period_begin + 1, false, gone)) {
  }
  if (k.rows->rows() > k.most_rows / 4 * 3) k.rows = std::make_unique<Table>(k.options);
}

}  // namespace paddle
