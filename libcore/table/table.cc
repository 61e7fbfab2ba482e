#include "table/table.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "table/checksum.h"
#include "table/dump_state.h"

namespace paddle {
namespace {

constexpr size_t rows_per_group = 32;  // that a rule updates in one call
constexpr uint64_t admission_stream = 0xadd15510e5eed5ull;

TableOptions checked(TableOptions o) {
  const auto refuse_unless = [&](bool ok, const char* why) {
    require(ok, Error::Kind::config, "the table '", o.name, "': ", why);
  };
  refuse_unless(o.width > 0 && o.width <= 65536, "a row has 1 to 65536 values");
  refuse_unless(o.admission.probability > 0 && o.admission.probability <= 1,
                "the probability of admission lies above 0 and is at most 1");
  refuse_unless(o.admission.min_count <= 65535, "the minimum count is at most 65535");
  refuse_unless(o.expiry.min_score >= 0, "the minimum score is not below 0");
  refuse_unless(o.init.kind != RowInit::Kind::uniform || o.init.a <= o.init.b,
                "the lower limit of its first values lies above the upper one");
  return o;
}

}  // namespace

Table::Table(TableOptions options)
    : options_(checked(std::move(options))),
      key_(init_key(options_.seed, options_.name)),
      update_(options_.rule, options_.settings, options_.l2, options_.width),
      layout_{options_.width, options_.bf16, update_.state_numbers()},
      budget_(options_.memory_limit),
      store_(layout_.row_bytes(), budget_),
      waiting_(sizeof(RowHead), budget_),
      before_(layout_.read_bytes()) {}

Table::~Table() = default;

size_t Table::bytes() const {
  return store_.bytes() + waiting_.bytes() + before_.bytes() +
         (dump_ ? dump_->changed.bytes() : 0) + removed_.capacity() * sizeof(RemovedId);
}

size_t Table::bytes_bound(size_t ids) const {
  const bool waits = options_.admission.min_count > 1;
  return store_.bytes_bound(ids) + waiting_.bytes_bound(waits ? ids : 0) +
         before_.bytes_bound(ids) +
         (dump_ ? dump_->changed.bytes_bound(ids * layout_.row_bytes()) : 0) +
         removed_.capacity() * sizeof(RemovedId);
}

void Table::write_first(uint64_t id, float* out) const {
  init_row(options_.init, key_, id, options_.width, out);
  if (options_.bf16)
    for (int64_t j = 0; j < options_.width; ++j) out[j] = from_bf16(to_bf16(out[j]));
}

size_t Table::pull(std::span<const uint64_t> ids, float* out) const {
  size_t missed = 0;
  store_.find_each(ids, layout_.read_bytes(), [&](size_t i, const std::byte* row) {
    float* to = out + static_cast<int64_t>(i) * options_.width;
    if (row) [[likely]] {
      layout_.read(row, to);
    } else {
      write_first(ids[i], to);
      ++missed;
    }
  });
  return missed;
}

size_t Table::pull_before(std::span<const uint64_t> ids, float* out) const {
  size_t missed = 0;
  for (size_t i = 0; i < ids.size(); ++i, out += options_.width) {
    const std::byte* row = before_.find(ids[i]);
    if (!row) row = store_.find(ids[i]);
    if (row)
      layout_.read(row, out);
    else
      write_first(ids[i], out);
    missed += row == nullptr;
  }
  return missed;
}

// A step that lies behind the table's clock counts as the present one.
void Table::set_clock(uint64_t step) {
  require(step < 0xfffffff0u, Error::Kind::config, "the table '", options_.name,
          "' counts fewer than 2^32 steps, and this is step ", step);
  clock_ = std::max(clock_, static_cast<uint32_t>(step + 1));
}

void Table::begin_round(uint64_t step) {
  ++clock_;
  if (step + 1 > clock_) set_clock(step);
  round_clock_ = clock_;
  before_.clear();
}

// Whether an id without a row gets one with this update.
bool Table::admit(uint64_t id, uint64_t step) {
  const RowAdmission& a = options_.admission;
  if (a.probability < 1 &&
      RandomStream(key_ ^ admission_stream, id).uniform(step) >= a.probability) {
    ++counters_.not_admitted;
    return false;
  }
  if (a.min_count <= 1) return true;
  std::byte* row = waiting_.find(id);
  if (!row) row = waiting_.insert(id);
  RowHead& head = *head_of(row);
  head.step = clock_;
  if (++head.count >= a.min_count) {
    waiting_.erase(id);
    return true;
  }
  ++counters_.not_admitted;
  return false;
}

std::byte* Table::make_row(uint64_t id) {
  std::byte* row = store_.insert(id);
  float first[256];
  std::vector<float> long_first;
  float* values = first;
  if (options_.width > 256) {
    long_first.resize(static_cast<size_t>(options_.width));
    values = long_first.data();
  }
  init_row(options_.init, key_, id, options_.width, values);
  layout_.write(values, row);
  std::copy(update_.first_state().begin(), update_.first_state().end(), layout_.states(row));
  ++counters_.created;
  return row;
}

// Whether so many rows more stay below the limit in any case.
bool Table::fits(size_t more) const {
  return budget_.limit() == 0 ||
         store_.bytes_bound(more) + waiting_.bytes_bound(more) <= budget_.limit();
}

// Rows for the ids that are admitted, before any row is updated: if memory ends, all of them go
// again.
void Table::make_rows(std::span<const uint64_t> ids, uint64_t step) {
  std::vector<uint64_t> made;
  try {
    for (const uint64_t id : ids)
      if (!store_.find(id) && admit(id, step)) {
        make_row_evicting(id);
        made.push_back(id);
      }
    for (const uint64_t id : made)  // one of them may have been evicted for another one
      if (!store_.find(id)) make_row(id);
  } catch (Error& e) {
    for (const uint64_t id : made)
      if (store_.erase(id)) --counters_.created;
    throw e.within("adding rows to the table '", options_.name, "' of ", store_.size(), " rows");
  }
}

void Table::push(std::span<const uint64_t> ids, const float* grads, float learning_rate,
                 uint64_t step) {
  set_clock(step);
  const bool made = !fits(ids.size());
  if (made) make_rows(ids, step);
  std::byte* group[rows_per_group];
  const float* group_grads[rows_per_group];
  size_t count = 0;
  const auto flush = [&] {
    if (count > 0) update_rows({group, count}, group_grads, learning_rate, step);
    count = 0;
  };
  absent_.clear();
  store_.find_each(ids, layout_.row_bytes(), [&](size_t i, std::byte* row) {
    if (!row) {
      absent_.push_back(i);
      return;
    }
    group_grads[count] = grads + static_cast<int64_t>(i) * options_.width;
    group[count++] = row;
    if (count == rows_per_group) flush();
  });
  flush();
  if (!made) push_absent(ids, grads, learning_rate, step);
}

// The updates of ids that have no row yet. Rows may move while others are made: then the addresses
// are looked up once all of a group are there.
void Table::push_absent(std::span<const uint64_t> ids, const float* grads, float learning_rate,
                        uint64_t step) {
  std::byte* group[rows_per_group];
  const float* group_grads[rows_per_group];
  uint64_t made[rows_per_group];
  for (size_t at = 0; at < absent_.size();) {
    size_t count = 0;
    const size_t segments = store_.segments();
    for (; at < absent_.size() && count < rows_per_group; ++at) {
      const uint64_t id = ids[absent_[at]];
      if (!admit(id, step)) continue;
      group[count] = make_row(id);
      group_grads[count] = grads + static_cast<int64_t>(absent_[at]) * options_.width;
      made[count++] = id;
    }
    if (store_.segments() != segments)
      for (size_t i = 0; i < count; ++i) group[i] = store_.find(made[i]);
    if (count > 0) update_rows({group, count}, group_grads, learning_rate, step);
  }
}

// The row is about to change: what a round or a dump still needs of it is copied.
void Table::keep_old(const std::byte* row) {
  const RowHead& head = *head_of(row);
  // A row may have been removed and made again since: the first copy is the one that counts.
  if (head.step < round_clock_) before_.add(row);
  if (dump_ && head.step <= dump_->clock && head.step > dump_->since && !dump_->walked &&
      row_hash(head.id) >= dump_->from)
    dump_->changed.add(row, layout_.row_bytes());
}

void Table::update_rows(std::span<std::byte* const> rows, const float* const* grads,
                        float learning_rate, uint64_t step) {
  float *values[rows_per_group], *states[rows_per_group];
  const bool keep = round_clock_ > 0 || dump_;
  if (options_.bf16) wide_.resize(rows_per_group * static_cast<size_t>(options_.width));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (keep) keep_old(rows[i]);
    RowHead& head = *head_of(rows[i]);
    changed_ += head.step <= mark_;
    head.step = clock_;
    head.count = static_cast<uint16_t>(head.count + (head.count < 65535));
    states[i] = layout_.states(rows[i]);
    values[i] = options_.bf16 ? wide_.data() + static_cast<int64_t>(i) * options_.width
                              : layout_.floats(rows[i]);
    if (options_.bf16) layout_.read(rows[i], values[i]);
  }
  update_.run({static_cast<int64_t>(rows.size()), options_.width, values, states, grads},
              learning_rate, step);
  if (options_.bf16)
    for (size_t i = 0; i < rows.size(); ++i) layout_.write(values[i], rows[i]);
}

void Table::assign(std::span<const uint64_t> ids, const float* values, uint64_t step) {
  set_clock(step);
  for (size_t i = 0; i < ids.size(); ++i, values += options_.width) {
    std::byte* row = store_.find(ids[i]);
    if (!row) row = make_row(ids[i]);
    if (round_clock_ > 0 || dump_) keep_old(row);
    changed_ += head_of(row)->step <= mark_;
    head_of(row)->step = clock_;
    layout_.write(values, row);
    std::copy(update_.first_state().begin(), update_.first_state().end(), layout_.states(row));
  }
}

void Table::replace(std::span<const uint64_t> ids, const float* values, uint64_t step) try {
  set_clock(step);
  for (size_t i = 0; i < ids.size(); ++i, values += options_.width) {
    std::byte* row = store_.find(ids[i]);
    if (!row) {
      make_row_evicting(ids[i]);
      row = store_.find(ids[i]);
    }
    if (round_clock_ > 0 || dump_) keep_old(row);
    RowHead& head = *head_of(row);
    head.step = clock_;
    head.count = static_cast<uint16_t>(head.count + (head.count < 65535));
    layout_.write(values, row);
  }
} catch (Error& e) {
  throw e.within("adding rows to the table '", options_.name, "' of ", store_.size(), " rows");
}

std::optional<Table::Row> Table::find(uint64_t id) const {
  const std::byte* row = store_.find(id);
  if (!row) return std::nullopt;
  Row out;
  out.values.resize(static_cast<size_t>(options_.width));
  layout_.read(row, out.values.data());
  const float* states = layout_.states(row);
  out.states.assign(states, states + layout_.state_numbers);
  out.step = head_of(row)->step - 1;
  out.count = head_of(row)->count;
  return out;
}

uint64_t Table::digest() const {
  uint64_t sum = 0, from = 0;
  const size_t content = layout_.row_bytes() - sizeof(RowHead);
  do {
  } while (store_.visit(from, [&](const std::byte* row) {
    sum += checksum64(row + sizeof(RowHead), content, mix64(head_of(row)->id));
  }));
  return sum;
}

}  // namespace paddle
