#include "trainer/row_requests.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "obs/exchange_times.h"
#include "table/bfloat.h"
#include "table/partition.h"

namespace paddle {

bool RowRequests::Pull::pulling() const {
  return std::any_of(parts.begin(), parts.end(), [](const PartPull& p) { return p.pulling; });
}

RowRequests::RowRequests(const Cut& cut, wire::Mode mode, uint32_t first_part, ShardSender& out)
    : cut_(cut), mode_(mode), out_(out), tables_(cut.trainer.tables.size()) {
  for (size_t i = 0; i < tables_.size(); ++i) {
    tables_[i].spec = &cut.trainer.tables[i];
    tables_[i].first_part = first_part + static_cast<uint32_t>(i * cut.table_shards.size());
    for (Pull& p : tables_[i].pulls) p.parts.resize(cut.table_shards.size());
  }
}

void RowRequests::join(uint64_t epoch) {
  epoch_ = epoch;
  in_step_ = false;
  for (Table& t : tables_) {
    t.at_hand = 0;
    for (Pull& pull : t.pulls) {
      pull.expected = false;
      for (PartPull& p : pull.parts) p.pulling = p.landing = false;
    }
  }
}

void RowRequests::begin_step(uint64_t step) {
  step_ = read_version_ = step;
  in_step_ = true;
}

void RowRequests::read_at(uint64_t version) {
  read_version_ = version;
  in_step_ = false;
}

// Which ids belong to which part, and where each is in the whole list.
void RowRequests::divide(Pull& pull, std::span<const uint64_t> ids) {
  pull.ids.assign(ids.begin(), ids.end());
  for (PartPull& p : pull.parts) {
    p.ids.clear();
    p.place.clear();
    p.version = ~uint64_t{0};
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    PartPull& p = pull.parts[shard_of(ids[i], static_cast<uint32_t>(pull.parts.size()))];
    p.ids.push_back(ids[i]);
    p.place.push_back(static_cast<uint32_t>(i));
  }
}

void RowRequests::send(Table& table, size_t pull, uint64_t version) {
  for (size_t k = 0; k < cut_.table_shards.size(); ++k) {
    PartPull& p = table.pulls[pull].parts[k];
    if (p.ids.empty()) continue;
    p.pulling = true;
    p.rows.resize(p.ids.size() * value_bytes(*table.spec));
    out_.send(static_cast<uint32_t>(cut_.table_shards[k]), pull + 1,
              wire::PullRows{.epoch = epoch_,
                             .version = mode_ == wire::Mode::sync ? version : 0,
                             .slice = table.first_part + static_cast<uint32_t>(k),
                             .rows = static_cast<uint32_t>(p.ids.size())},
              std::as_bytes(std::span(p.ids)));
  }
}

// The memory of a pull that is on its way stays as it is, even where no step will ask for it any
// more.
void RowRequests::announce(int32_t table, std::span<const uint64_t> ids, uint64_t step) {
  if (!in_step_ || step != step_ + 1) return;
  Table& t = tables_[static_cast<size_t>(table)];
  for (size_t k = 1; k < pulls_at_once; ++k) {
    Pull& p = t.pulls[k];
    if ((p.expected && p.step >= step_) || p.pulling()) continue;
    divide(p, ids);
    p.step = step;
    p.expected = true;
    p.sent = mode_ == wire::Mode::async;
    if (p.sent) send(t, k, step);
    return;
  }
}

void RowRequests::send_announced() {
  for (Table& t : tables_)
    for (size_t k = 1; k < pulls_at_once; ++k) {
      Pull& p = t.pulls[k];
      if (!p.expected || p.sent || p.step != step_ + 1) continue;
      p.sent = true;
      send(t, k, p.step);
    }
}

// The pull that was announced for this step with these ids and sent, or 0.
size_t RowRequests::take_announced(Table& table, std::span<const uint64_t> ids) {
  size_t found = 0;
  for (size_t k = 1; k < pulls_at_once && in_step_; ++k) {
    Pull& p = table.pulls[k];
    if (!p.expected || p.step != step_) continue;
    p.expected = false;
    if (p.sent && std::ranges::equal(p.ids, ids)) found = k;
  }
  return found;
}

void RowRequests::request(int32_t table, std::span<const uint64_t> ids) {
  Table& t = tables_[static_cast<size_t>(table)];
  t.at_hand = take_announced(t, ids);
  if (t.at_hand > 0) {
    ++ahead_;
    ++exchange_times().rows_ahead;
    return;
  }
  divide(t.pulls[0], ids);
  send(t, 0, read_version_);
}

void RowRequests::take(int32_t table, float* rows) const {
  const TableSpec& spec = *tables_[static_cast<size_t>(table)].spec;
  const auto width = static_cast<size_t>(spec.width);
  for (const PartPull& p : at_hand(table).parts) {
    const std::byte* from = p.rows.data();
    for (const uint32_t place : p.place) {
      float* to = rows + place * width;
      if (!spec.bf16_wire) {
        std::memcpy(to, from, width * sizeof(float));
      } else {
        for (size_t j = 0; j < width; ++j) {
          uint16_t half;
          std::memcpy(&half, from + 2 * j, sizeof half);
          to[j] = from_bf16(half);
        }
      }
      from += value_bytes(spec);
    }
  }
}

const RowRequests::Pull& RowRequests::divided(int32_t table, std::span<const uint64_t> ids) {
  Table& t = tables_[static_cast<size_t>(table)];
  if (std::ranges::equal(t.pulls[t.at_hand].ids, ids)) return t.pulls[t.at_hand];
  divide(t.pulls[0], ids);
  return t.pulls[0];
}

// ---- answers

std::span<std::byte> RowRequests::landing(int32_t table, size_t part, uint64_t number,
                                          uint64_t bytes) {
  Table& t = tables_[static_cast<size_t>(table)];
  PartPull* p = number > 0 && number <= pulls_at_once ? &t.pulls[number - 1].parts[part] : nullptr;
  require(p != nullptr && p->pulling && !p->landing && bytes == p->rows.size(),
          Error::Kind::protocol, "it sent ", bytes, " bytes of rows of '", t.spec->param,
          "' that nobody asked for");
  p->landing = true;
  return p->rows;
}

void RowRequests::arrived(int32_t table, size_t part, uint64_t number, uint64_t version,
                          uint64_t own) {
  Table& t = tables_[static_cast<size_t>(table)];
  PartPull* p = number <= pulls_at_once ? &t.pulls[number - 1].parts[part] : nullptr;
  require(p != nullptr && p->landing, Error::Kind::protocol, "it answered a pull of '",
          t.spec->param, "' that was not sent");
  p->landing = p->pulling = false;
  p->version = version;
  p->own = own;
}

}  // namespace paddle
