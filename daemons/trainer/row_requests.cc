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

RowRequests::RowRequests(const Cut& cut, wire::Mode mode, uint32_t first_part, ShardSender& out,
                         const RowCacheOptions& cache)
    : cut_(cut), mode_(mode), out_(out), tables_(cut.trainer.tables.size()) {
  for (size_t i = 0; i < tables_.size(); ++i) {
    tables_[i].spec = &cut.trainer.tables[i];
    tables_[i].first_part = first_part + static_cast<uint32_t>(i * cut.table_shards.size());
    for (Pull& p : tables_[i].pulls) p.parts.resize(cut.table_shards.size());
    if (cache.bytes == 0) continue;
    const RowCache& made = tables_[i].cache.emplace(cache.bytes / tables_.size(),
                                                    value_bytes(*tables_[i].spec), cache.steps);
    exchange_times().row_cache.bytes += static_cast<int64_t>(made.bytes());
  }
}

void RowRequests::join(uint64_t epoch) {
  epoch_ = epoch;
  in_step_ = false;
  for (Table& t : tables_) {
    t.at_hand = 0;
    if (t.cache) {
      exchange_times().row_cache.rows -= static_cast<int64_t>(t.cache->rows());
      t.cache->clear();
    }
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

// Which ids belong to which part, and where each is in the whole list; those first whose rows are
// not cached.
void RowRequests::divide(Pull& pull, RowCache* cache, uint64_t step) {
  for (PartPull& p : pull.parts) {
    p.ids.clear();
    p.place.clear();
    p.version = ~uint64_t{0};
    p.cached_base = std::numeric_limits<int64_t>::max();
  }
  hits_.clear();
  for (size_t i = 0; i < pull.ids.size(); ++i) {
    const uint64_t id = pull.ids[i];
    const uint32_t part = shard_of(id, static_cast<uint32_t>(pull.parts.size()));
    const auto place = static_cast<uint32_t>(i);
    const RowCache::Found found = cache ? cache->find(id, step) : RowCache::Found{};
    if (found.row != nullptr) {
      hits_.push_back({part, place, 0, found});
      continue;
    }
    pull.parts[part].ids.push_back(id);
    pull.parts[part].place.push_back(place);
  }
  for (PartPull& p : pull.parts) p.asked = p.ids.size();
  for (Hit& h : hits_) {
    PartPull& p = pull.parts[h.part];
    h.index = p.ids.size();
    p.ids.push_back(pull.ids[h.place]);
    p.place.push_back(h.place);
    p.cached_base = std::min(p.cached_base, h.found.base);
  }
}

// The rows behind those that will come.
void RowRequests::take_cached(const Table& table, Pull& pull) {
  const size_t bytes = value_bytes(*table.spec);
  for (PartPull& p : pull.parts) p.rows.resize(p.ids.size() * bytes);
  for (const Hit& h : hits_)
    std::memcpy(pull.parts[h.part].rows.data() + h.index * bytes, h.found.row, bytes);
  exchange_times().row_cache.hits += hits_.size();
  exchange_times().row_cache.misses += pull.ids.size() - hits_.size();
}

// The rows of a pull that a step needs.
void RowRequests::ask(Table& table, size_t pull, uint64_t step) {
  Pull& p = table.pulls[pull];
  RowCache* cache = in_step_ && table.cache ? &*table.cache : nullptr;
  divide(p, cache, step);
  p.asked_at = step_;
  if (cache) take_cached(table, p);
}

void RowRequests::send(Table& table, size_t pull, uint64_t version) {
  for (size_t k = 0; k < cut_.table_shards.size(); ++k) {
    PartPull& p = table.pulls[pull].parts[k];
    if (p.asked == 0) continue;
    p.pulling = true;
    p.rows.resize(p.ids.size() * value_bytes(*table.spec));
    out_.send(static_cast<uint32_t>(cut_.table_shards[k]), pull + 1,
              wire::PullRows{.epoch = epoch_,
                             .version = mode_ == wire::Mode::sync ? version : 0,
                             .slice = table.first_part + static_cast<uint32_t>(k),
                             .rows = static_cast<uint32_t>(p.asked)},
              std::as_bytes(std::span(p.ids).first(p.asked)));
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
    p.ids.assign(ids.begin(), ids.end());
    p.step = step;
    p.expected = true;
    p.sent = mode_ == wire::Mode::async && !t.cache;
    if (!t.cache) ask(t, k, step);
    if (p.sent) send(t, k, step);
    return;
  }
}

void RowRequests::send_announced() {
  for (Table& t : tables_) send_announced(t);
}

void RowRequests::send_announced(Table& t) {
  for (size_t k = 1; k < pulls_at_once; ++k) {
    Pull& p = t.pulls[k];
    if (!p.expected || p.sent || p.step != step_ + 1) continue;
    p.sent = true;
    if (t.cache) ask(t, k, p.step);
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
  t.pulls[0].ids.assign(ids.begin(), ids.end());
  ask(t, 0, read_version_);
  send(t, 0, read_version_);
}

void RowRequests::take(int32_t table, float* rows) {
  Table& t = tables_[static_cast<size_t>(table)];
  const TableSpec& spec = *t.spec;
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
  if (t.cache && in_step_) keep(t);
}

void RowRequests::keep(Table& t) {
  const Pull& pull = t.pulls[t.at_hand];
  const size_t bytes = value_bytes(*t.spec);
  const uint64_t before = t.cache->rows();
  for (const PartPull& p : pull.parts)
    for (size_t i = 0; i < p.asked; ++i)
      t.cache->put(p.ids[i], pull.asked_at, static_cast<int64_t>(p.version - p.own),
                   p.rows.data() + i * bytes);
  exchange_times().row_cache.rows += static_cast<int64_t>(t.cache->rows() - before);
  if (mode_ == wire::Mode::async) send_announced(t);
}

const RowRequests::Pull& RowRequests::divided(int32_t table, std::span<const uint64_t> ids) {
  Table& t = tables_[static_cast<size_t>(table)];
  if (std::ranges::equal(t.pulls[t.at_hand].ids, ids)) return t.pulls[t.at_hand];
  t.pulls[0].ids.assign(ids.begin(), ids.end());
  divide(t.pulls[0], nullptr, 0);
  return t.pulls[0];
}

// ---- answers

std::span<std::byte> RowRequests::landing(int32_t table, size_t part, uint64_t number,
                                          uint64_t bytes) {
  Table& t = tables_[static_cast<size_t>(table)];
  PartPull* p = number > 0 && number <= pulls_at_once ? &t.pulls[number - 1].parts[part] : nullptr;
  require(p != nullptr && p->pulling && !p->landing && bytes == p->asked * value_bytes(*t.spec),
          Error::Kind::protocol, "it sent ", bytes, " bytes of rows of '", t.spec->param,
          "' that nobody asked for");
  p->landing = true;
  return std::span(p->rows).first(bytes);
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
