#include "pserver/table_part.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/machine_memory.h"
#include "exec/table_store.h"
#include "optim/merge.h"
#include "table/bfloat.h"

namespace paddle {
namespace {

constexpr uint64_t id_bytes = sizeof(uint64_t);

SliceInfo slice_info(const TableInfo& t, size_t place) {
  return {.id = t.id, .name = t.spec.param, .grad = t.spec.grad, .block = 0, .place = place};
}

float rate_of(const Variable* rate, const TableSpec& s) {
  return rate == nullptr ? 0 : static_cast<float>(read_number(rate->tensor)) * s.rate_factor;
}

}  // namespace

TablePart::TablePart(TableInfo info, size_t place, const Variable* rate, ByteBudget* budget)
    : Versioned(slice_info(info, place)),
      table_info_(std::move(info)),
      rate_(rate),
      table_(table_options(table_info_.spec)),
      claim_(budget),
      sum_(table_info_.spec.width) {}

// ---- what can be said of messages

uint64_t TablePart::row_bytes(uint64_t rows) const {
  const TableSpec& s = table_info_.spec;
  return rows * static_cast<uint64_t>(s.width) * (s.bf16_wire ? 2 : 4);
}

std::optional<uint64_t> TablePart::gradient_bytes(uint32_t rows) const {
  const uint64_t bytes = rows * id_bytes + row_bytes(rows);
  return bytes <= max_rows_bytes ? std::optional(bytes) : std::nullopt;
}

std::string TablePart::ids_problem(std::span<const uint64_t> ids) const {
  const TableInfo& t = table_info_;
  const auto height = static_cast<uint64_t>(t.spec.height);  // -1: above all ids but the last
  for (const uint64_t id : ids) {
    if (t.spec.height >= 0 && id >= height)
      return text("the id ", id, " is not below ", height, ", the number of rows of '",
                  t.spec.param, "'");
    if (shard_of(id, t.parts) != t.part)
      return text("the row ", id, " of '", t.spec.param, "' is in part ", shard_of(id, t.parts),
                  " of ", t.parts, ", and this shard keeps part ", t.part);
  }
  return "";
}

std::string TablePart::gradient_problem(const Gradient& grad) {
  const std::span ids(reinterpret_cast<const uint64_t*>(grad.data), grad.rows);
  const std::string why = ids_problem(ids);
  if (!why.empty() || ids.empty()) return why;
  // A set with open addressing; the id 0 stands for an empty place, and is looked for apart.
  const size_t places = std::bit_ceil(ids.size() * 2);
  seen_.assign(places, 0);
  bool zero = false;
  for (const uint64_t id : ids) {
    bool twice = id == 0 && zero;
    zero = zero || id == 0;
    size_t at = static_cast<size_t>(mix64(id)) & (places - 1);
    while (id != 0 && seen_[at] != 0 && !twice) {
      twice = seen_[at] == id;
      at = (at + 1) & (places - 1);
    }
    if (twice) return text("the row ", id, " of '", info_.name, "' came twice in one gradient");
    if (id != 0) seen_[at] = id;
  }
  return "";
}

TablePart::Rows TablePart::rows_of(const Gradient& grad) {
  const std::span ids(reinterpret_cast<const uint64_t*>(grad.data), grad.rows);
  const std::byte* rows = grad.data + ids.size_bytes();
  if (!table_info_.spec.bf16_wire) return {ids, reinterpret_cast<const float*>(rows)};
  wide_.resize(ids.size() * static_cast<size_t>(table_info_.spec.width));
  for (size_t i = 0; i < wide_.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, rows + 2 * i, sizeof half);
    wide_[i] = from_bf16(half);
  }
  return {ids, wide_.data()};
}

double TablePart::largest_in(const Gradient& grad) {
  const Rows r = rows_of(grad);
  return static_cast<double>(
      optim::largest<float>(r.values, static_cast<int64_t>(r.ids.size()) * table_info_.spec.width));
}

// ---- updates

// Before anything changes: as much as so many new rows can need, the copies of old ones included.
void TablePart::take_memory(size_t rows) {
  if (claim_.budget() == nullptr) return;
  const uint64_t most = table_.bytes_bound(rows) + sum_.bytes();
  if (most <= claim_.bytes() || claim_.add(most - claim_.bytes())) return;
  throw Error(Error::Kind::config, "the table '", info_.name, "' has ", table_.rows(), " rows, ",
              memory_text(table_.bytes()), ", and gets up to ", rows,
              " more; its pserver may hold ", memory_text(claim_.budget()->limit()),
              " (--memory_limit), of which ", memory_text(claim_.budget()->held()),
              " are taken: use more pservers, raise --memory_limit, or let rows expire");
}

// What is held in fact.
void TablePart::count_memory() {
  const uint64_t held = table_.bytes() + sum_.bytes() + ids_.capacity() * id_bytes +
                        grads_.capacity() * sizeof(float);
  if (held < claim_.bytes())
    claim_.remove(claim_.bytes() - held);
  else
    claim_.add_anyway(held - claim_.bytes());
}

void TablePart::contribute(const Gradient& grad) {
  const Rows r = rows_of(grad);
  if (summed_ == 0) {
    ids_.assign(r.ids.begin(), r.ids.end());
    grads_.assign(r.values, r.values + r.ids.size() * static_cast<size_t>(table_info_.spec.width));
  } else {
    if (summed_ == 1) sum_.add(ids_, grads_.data());
    sum_.add(r.ids, r.values);
  }
  ++summed_;
  count_memory();
}

// A single gradient is used as it is, as for slices.
void TablePart::close_round() {
  if (summed_ > 1) sum_.take(1.0f / static_cast<float>(summed_), ids_, grads_);
  take_memory(ids_.size());
  table_.begin_round(version_);
  table_.push(ids_, grads_.data(), rate_of(rate_, table_info_.spec), version_);
  has_previous_ = true;
  summed_ = 0;
  ++version_;
  count_memory();
}

bool TablePart::update(const Gradient& grad, bool geo) {
  const Rows r = rows_of(grad);
  take_memory(r.ids.size());
  if (geo) {
    grads_.resize(r.ids.size() * static_cast<size_t>(table_info_.spec.width));
    table_.pull(r.ids, grads_.data());
    optim::add<float>(r.values, static_cast<int64_t>(grads_.size()), grads_.data());
    if (!optim::all_finite<float>(grads_.data(), static_cast<int64_t>(grads_.size()))) return false;
    table_.replace(r.ids, grads_.data(), version_);
  } else {
    table_.push(r.ids, r.values, rate_of(rate_, table_info_.spec), version_);
  }
  ++version_;
  count_memory();
  return true;
}

void TablePart::restart(uint64_t version) {
  Versioned::restart(version);
  has_previous_ = false;
  expire_from_ = 0;
  expired_at_ = version;
  count_memory();
}

// ---- values

void TablePart::read(std::span<const uint64_t> ids, bool before, std::byte* out) {
  const TableSpec& s = table_info_.spec;
  const size_t numbers = ids.size() * static_cast<size_t>(s.width);
  if (s.bf16_wire) wide_.resize(numbers);
  float* values = s.bf16_wire ? wide_.data() : reinterpret_cast<float*>(out);
  table_.count_pull(ids.size(),
                    before ? table_.pull_before(ids, values) : table_.pull(ids, values));
  require(optim::all_finite<float>(values, static_cast<int64_t>(numbers)), Error::Kind::numeric,
          "rows of the table '", info_.name, "' of version ", version_,
          " hold NaN or Inf, from "
          "gradients that are finite: lower the learning rate or clip gradients; the last snapshot "
          "and the last model that was saved may be from before it");
  if (!s.bf16_wire) return;
  for (size_t i = 0; i < numbers; ++i) {
    const uint16_t half = to_bf16(values[i]);
    std::memcpy(out + 2 * i, &half, sizeof half);
  }
}

std::string TablePart::set_rows(std::span<const std::byte> chunk) {
  try {
    const PartFormat format = table_.format();
    const PartView part = read_part(chunk, format);
    const auto width = static_cast<size_t>(format.layout.width);
    wide_.resize(width);
    std::string why;
    part.each_row([&](const std::byte* row) {
      const uint64_t id = head_of(row)->id;
      if (why.empty()) why = ids_problem({&id, 1});
      format.layout.read(row, wide_.data());
      const bool finite =
          optim::all_finite<float>(wide_.data(), format.layout.width) &&
          optim::all_finite<float>(format.layout.states(row), format.layout.state_numbers);
      if (why.empty() && !finite)
        why = text("the first values of '", info_.name,
                   "' hold NaN or Inf: look at its initializer, or at the model that training "
                   "starts from");
    });
    if (!why.empty()) return why;
    take_memory(static_cast<size_t>(part.head.rows));
    table_.load_part(chunk, table_info_.part, table_info_.parts);
  } catch (const Error& e) {
    return e.what();
  }
  count_memory();
  return "";
}

// Memory is taken at once where there is enough for all rows; else row by row, as far as it goes.
void TablePart::load(std::span<const std::byte> chunk, uint64_t follow) {
  const size_t rows = static_cast<size_t>(follow) / table_.format().layout.row_bytes();
  const uint64_t most = rows > 0 ? table_.bytes_bound(rows) : 0;
  if (claim_.budget() == nullptr || most <= claim_.bytes() || claim_.add(most - claim_.bytes()))
    table_.expect(rows);
  take_memory(chunk.size() / static_cast<size_t>(table_info_.spec.width) / 2);
  table_.load_part(chunk, table_info_.part, table_info_.parts);
  count_memory();
}

uint64_t TablePart::expected_rows() const {
  const TableSpec& s = table_info_.spec;
  uint64_t rows = 0;
  for (int64_t id = 0; s.first_values_sent && id < s.height; ++id)
    rows += shard_of(static_cast<uint64_t>(id), table_info_.parts) == table_info_.part;
  return rows;
}

// A walk over the table begins where a tenth of the time after which rows go has passed.
bool TablePart::expire_some() {
  const Expiry& e = table_.options().expiry;
  if (e.unseen_steps == 0 && e.min_score == 0) return false;
  const uint64_t period = std::max<uint64_t>(1, (e.unseen_steps ? e.unseen_steps : 1000) / 10);
  if (expire_from_ == 0 && version_ < expired_at_ + period) return false;
  if (expire_from_ == 0) expired_at_ = version_;
  Table::Expired gone;
  const bool more = table_.expire_part(expire_from_, expired_at_, false, gone);
  if (!more) expire_from_ = 0;
  count_memory();
  return more;
}

}  // namespace paddle
