#include "trainer/ps_values.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "graph/shard_values.h"
#include "io/program_buffer.h"
#include "io/table_buffer.h"
#include "table/partition.h"

namespace paddle {
namespace {

constexpr size_t value_chunk = 4u << 20;  // bytes of one SetValue or Fetch
// Of one shard, on their way at a time: enough that neither side waits for the other.
constexpr size_t fetches_in_flight = 256, bytes_in_flight = 32u << 20;

uint64_t hash_bytes(const Tensor& t, uint64_t h) {
  const auto* bytes = static_cast<const std::byte*>(t.raw());
  const size_t n = t.bytes();
  for (size_t i = 0; i + 8 <= n; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    h = (h ^ word) * 0x100000001b3ull + (h >> 29);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes + n / 8 * 8, n % 8);
  return mix64(h ^ tail ^ (uint64_t{n} << 32));
}

struct TableOfShard {
  const TableSpec* spec;
  uint32_t id, part, parts;
};

std::vector<TableOfShard> tables_of(const Cut& cut, size_t shard) {
  std::vector<TableOfShard> out;
  const auto parts = static_cast<uint32_t>(cut.table_shards.size());
  for (size_t t = 0; t < cut.trainer.tables.size(); ++t)
    for (uint32_t k = 0; k < parts; ++k)
      if (cut.table_shards[k] == shard)
        out.push_back({&cut.trainer.tables[t],
                       static_cast<uint32_t>(cut.slices.size() + t * parts) + k, k, parts});
  return out;
}

wire::Configure configure_message(const Cut& cut, size_t shard,
                                  const std::vector<ShardValue>& values, const JoinDecision& d,
                                  const std::string& init) {
  wire::Configure out{.epoch = d.epoch,
                      .step = d.step,
                      .reset = d.reset,
                      .continues = d.continues,
                      .values_digest = init,
                      .program = to_flatbuffer(cut.pservers[shard])};
  for (size_t i = 0; i < cut.slices.size(); ++i) {
    const SliceSpec& s = cut.slices[i];
    if (s.shard == shard)
      out.slices.push_back({static_cast<uint32_t>(i), s.name, s.merged_grad, s.block});
  }
  for (const ShardValue& o : values)
    out.variables.push_back({o.name,
                             static_cast<uint8_t>(o.tensor.dtype()),
                             {o.tensor.shape().begin(), o.tensor.shape().end()}});
  for (const TableOfShard& t : tables_of(cut, shard))
    out.tables.push_back({t.id, t.part, t.parts, to_flatbuffer(*t.spec)});
  return out;
}

// The first values of a table, where they do not follow from the ids: `f(bulk, rows, last)` for one
// message after the other, `last` with the last one of the table. The bulk is gone afterwards.
template <class F>
void each_rows(const TableOfShard& t, const Tensor& whole, const F& f) {
  const auto width = static_cast<size_t>(t.spec->width);
  require(whole.dtype() == DType::f32 && whole.numel() == t.spec->height * t.spec->width,
          Error::Kind::config, "the first values of the sparse table '", t.spec->param,
          "' have another type or shape than the table");
  std::vector<uint64_t> ids;
  const size_t most = std::max<size_t>(1, value_chunk / (sizeof(uint64_t) + width * sizeof(float)));
  const auto send = [&](bool last) {
    std::vector<std::byte> bulk(ids.size() * (sizeof(uint64_t) + width * sizeof(float)));
    if (!ids.empty()) std::memcpy(bulk.data(), ids.data(), ids.size() * sizeof(uint64_t));
    std::byte* at = bulk.data() + ids.size() * sizeof(uint64_t);
    for (const uint64_t id : ids) {
      std::memcpy(at, whole.data<float>() + id * width, width * sizeof(float));
      at += width * sizeof(float);
    }
    f(std::move(bulk), static_cast<uint32_t>(ids.size()), last);
    ids.clear();
  };
  for (uint64_t id = 0; id < static_cast<uint64_t>(t.spec->height); ++id) {
    if (shard_of(id, t.parts) != t.part) continue;
    if (ids.size() == most) send(false);
    ids.push_back(id);
  }
  send(true);
}

// Fetches from one shard, as many at a time as are allowed.
class FetchQueue {
 public:
  FetchQueue(Links& links, size_t shard, const std::vector<ShardValue>& values)
      : links_(links), shard_(shard) {
    for (const ShardValue& o : values)
      for (size_t at = 0; at < o.tensor.bytes(); at += value_chunk)
        parts_.push_back({o.name,
                          at,
                          {static_cast<std::byte*>(o.tensor.raw()) + at,
                           std::min(value_chunk, o.tensor.bytes() - at)},
                          0});
    links_[shard].expect_versions();
  }

  // Sends what may be sent; true once all is here.
  bool advance() {
    LinkState& link = links_[shard_];
    for (; done_ < sent_ && link.acked(parts_[done_].id); ++done_)
      in_flight_ -= parts_[done_].to.size();
    for (;
         sent_ < parts_.size() && sent_ - done_ < fetches_in_flight && in_flight_ < bytes_in_flight;
         ++sent_) {
      Part& p = parts_[sent_];
      links_.require_open(shard_);
      p.id = link.expect_ack(p.to);
      in_flight_ += p.to.size();
      links_.request(shard_, p.id, wire::Fetch{p.variable, p.offset, p.to.size()});
    }
    links_.flush();
    return done_ == parts_.size();
  }
  std::string waiting_for() const {
    return text("the values of '", done_ < parts_.size() ? parts_[done_].variable : "",
                "' from pserver ", links_[shard_].endpoint());
  }
  size_t shard() const { return shard_; }

 private:
  struct Part {
    std::string variable;
    uint64_t offset = 0;
    std::span<std::byte> to;
    uint64_t id = 0;
  };
  Links& links_;
  size_t shard_;
  std::vector<Part> parts_;
  size_t sent_ = 0, done_ = 0, in_flight_ = 0;
};

void fetch_all(std::vector<FetchQueue>& queues, const WaitUntil& wait) {
  const FetchQueue* slow = nullptr;
  wait([&] { return slow ? slow->waiting_for() : "nothing"; },
       [&] {
         slow = nullptr;
         for (FetchQueue& q : queues)
           if (!q.advance() && !slow) slow = &q;
         return slow == nullptr;
       });
}

}  // namespace

std::string digest_of_values(const Cut& cut, const Scope& scope) {
  uint64_t h = 0;
  for (size_t shard = 0; shard < cut.pservers.size(); ++shard)
    for (const ShardValue& o : shard_values(cut, shard, scope))
      h = hash_bytes(o.tensor, h ^ hash_text(o.name));
  for (const TableSpec& t : cut.trainer.tables) {
    h = mix64(h ^ hash_text(to_flatbuffer(t)));
    if (t.first_values_sent) h = hash_bytes(scope.tensor(t.param), h);
  }
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}

// What was sent of rows stays in `kept` until the shard has answered.
void send_first_values(Links& links, size_t shard, uint64_t id, const Cut& cut, const Scope& scope,
                       const JoinDecision& d, const std::string& init, SentRows& kept) {
  kept.clear();
  const std::vector<ShardValue> values = shard_values(cut, shard, scope);
  std::vector<TableOfShard> tables = tables_of(cut, shard);
  std::erase_if(tables, [](const TableOfShard& t) { return !t.spec->first_values_sent; });
  // A shard without values has nothing more to wait for, and answers this message itself.
  links.request(shard, values.empty() && tables.empty() ? id : 0,
                configure_message(cut, shard, values, d, init));
  for (size_t i = 0; i < values.size(); ++i) {
    const wire::Bytes all{static_cast<const std::byte*>(values[i].tensor.raw()),
                          values[i].tensor.bytes()};
    for (size_t at = 0; at == 0 || at < all.size(); at += value_chunk) {
      const wire::Bytes part = all.subspan(at, std::min(value_chunk, all.size() - at));
      const bool last = i + 1 == values.size() && at + part.size() == all.size() && tables.empty();
      links.request(
          shard, last ? id : 0,
          wire::SetValue{
              .epoch = d.epoch, .index = static_cast<uint32_t>(i), .offset = at, .last = last},
          part);
    }
  }
  for (const TableOfShard& t : tables)
    each_rows(t, scope.tensor(t.spec->param), [&](auto bulk, uint32_t rows, bool of_table) {
      const bool last = of_table && &t == &tables.back();
      kept.push_back(std::move(bulk));
      links.request(shard, last ? id : 0,
                    wire::SetRows{.epoch = d.epoch, .slice = t.id, .rows = rows, .last = last},
                    kept.back());
    });
  links.flush();
}

// What slices share is taken where the slices are furthest behind: that is the step which training
// goes on from. A shard without slices has never counted.
uint64_t collect_values(Links& links, const Cut& cut, const Scope& scope, const WaitUntil& wait) {
  std::vector<FetchQueue> queues;
  for (size_t shard = 0; shard < links.size(); ++shard) {
    const std::vector<ShardValue> values = slice_values(cut, shard, scope);
    if (!values.empty()) queues.emplace_back(links, shard, values);
  }
  fetch_all(queues, wait);
  uint64_t step = ~uint64_t{0};
  size_t last = 0;
  for (const FetchQueue& q : queues) {
    const uint64_t version = links[q.shard()].lowest_version();
    if (version < step) last = q.shard();
    step = std::min(step, version);
  }
  const std::vector<ShardValue> shared = shared_values(cut, last, scope);
  if (shared.empty()) return step;
  queues.clear();
  queues.emplace_back(links, last, shared);
  fetch_all(queues, wait);
  return links[last].lowest_version();
}

}  // namespace paddle
