#include "trainer/ps_values.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "exec/table_store.h"
#include "io/program_buffer.h"
#include "io/table_buffer.h"

namespace paddle {
namespace {

constexpr size_t value_chunk = 4u << 20;  // bytes of one SetValue or Fetch
// Of one shard, on their way at a time: enough that neither side waits for the other.
constexpr size_t fetches_in_flight = 256, bytes_in_flight = 32u << 20;
constexpr size_t rows_in_flight = 4;           // messages of FirstValues
constexpr size_t most_rows_bytes = 64u << 20;  // of one answer

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

wire::Configure configure_message(const Cut& cut, size_t shard,
                                  const std::vector<ShardValue>& values, const JoinDecision& d,
                                  const std::string& init) {
  wire::Configure out{.epoch = d.epoch,
                      .step = d.step,
                      .reset = d.reset,
                      .continues = d.continues,
                      .values_digest = init,
                      .program = to_flatbuffer(cut.pservers[shard]),
                      .origins = d.origins};
  for (size_t i = 0; i < cut.slices.size(); ++i) {
    const SliceSpec& s = cut.slices[i];
    if (s.shard == shard)
      out.slices.push_back({static_cast<uint32_t>(i), s.name, s.merged_grad, s.block});
  }
  for (const ShardValue& o : values)
    out.variables.push_back({o.name,
                             static_cast<uint8_t>(o.tensor.dtype()),
                             {o.tensor.shape().begin(), o.tensor.shape().end()}});
  return out;
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
  for (size_t t = 0; t < cut.trainer.tables.size(); ++t) h = hash_first_rows(cut, t, scope, h);
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}

FirstValues::FirstValues(Links& links, size_t shard, const Cut& cut,
                         std::shared_ptr<const Scope> scope, const JoinDecision& d,
                         const std::string& init)
    : links_(links), shard_(shard), scope_(std::move(scope)), epoch_(d.epoch) {
  const std::vector<ShardValue> values = shard_values(cut, shard, *scope_);
  wire::Configure configure = configure_message(cut, shard, values, d, init);
  for (const TablePlace& t : table_places(cut)) {
    if (t.shard != shard) continue;
    auto rows = FirstRowsSource::of(cut, t, *scope_, d.step);
    configure.tables.push_back(
        {t.id, t.part, t.parts, to_flatbuffer(cut.trainer.tables[t.table]), rows != nullptr});
    if (rows) tables_.insert(tables_.begin(), {t.id, std::move(rows)});
  }
  // A shard without values has nothing more to wait for, and answers this message itself.
  if (values.empty() && tables_.empty()) last_ = links[shard].expect_ack();
  links.request(shard, last_, configure);
  send_slices(values);
  advance();
}

void FirstValues::send_slices(const std::vector<ShardValue>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const wire::Bytes all{static_cast<const std::byte*>(values[i].tensor.raw()),
                          values[i].tensor.bytes()};
    for (size_t at = 0; at == 0 || at < all.size(); at += value_chunk) {
      const wire::Bytes part = all.subspan(at, std::min(value_chunk, all.size() - at));
      const bool last = i + 1 == values.size() && at + part.size() == all.size() && tables_.empty();
      if (last) last_ = links_[shard_].expect_ack();
      links_.request(
          shard_, last_,
          wire::SetValue{
              .epoch = epoch_, .index = static_cast<uint32_t>(i), .offset = at, .last = last},
          part);
    }
  }
}

bool FirstValues::advance() {
  LinkState& link = links_[shard_];
  while (!sent_.empty() && link.acked(sent_.front().id)) sent_.pop_front();
  while (!tables_.empty() && sent_.size() < rows_in_flight && links_.open(shard_)) {
    Sent& s = sent_.emplace_back();
    const uint32_t id = tables_.back().id;
    if (!tables_.back().rows->next(s.bulk)) tables_.pop_back();
    s.id = link.expect_ack();
    if (tables_.empty()) last_ = s.id;
    links_.request(shard_, s.id, wire::SetRows{epoch_, id, tables_.empty()}, s.bulk);
  }
  links_.flush();
  return last_ != 0 && link.acked(last_);
}

namespace {

// The rows of a part of a table, as its shard sends them: f(chunk, version) for each piece.
template <class F>
void fetch_rows(Links& links, const TablePlace& place, const std::string& name, uint64_t epoch,
                const WaitUntil& wait, const F& f) {
  LinkState& link = links[place.shard];
  const auto what = [&] { return text("rows of '", name, "' from pserver ", link.endpoint()); };
  const auto chunk = std::make_shared<std::vector<std::byte>>();
  wire::FetchRows ask{.epoch = epoch, .slice = place.id};
  do {
    links.require_open(place.shard);
    const uint64_t id = link.expect_rows(chunk, most_rows_bytes);
    links.request(place.shard, id, ask);
    links.flush();
    wait(what, [&] { return link.acked(id); });
    f(std::span<const std::byte>(*chunk), link.last_answer().version);
    ask.from = link.last_answer().next;
    ++ask.number;
  } while (ask.from != 0);
}

}  // namespace

uint64_t collect_arrays(Links& links, const Cut& cut, const Scope& scope, uint64_t epoch,
                        const WaitUntil& wait, bool updated) {
  uint64_t lowest = ~uint64_t{0};
  for (const TablePlace& place : table_places(cut)) {
    const TableSpec& spec = cut.trainer.tables[place.table];
    if (!spec.first_values_sent) continue;
    TableArrays arrays(cut, place.table, scope);
    const PartFormat format = part_format(table_options(spec));
    uint64_t version = 0;
    fetch_rows(links, place, spec.param, epoch, wait,
               [&](std::span<const std::byte> chunk, uint64_t v) {
                 read_part(chunk, format).each_row([&](const std::byte* row) {
                   arrays.set_row(format.layout, row);
                 });
                 version = v;
               });
    arrays.set_powers(updated ? version : 0);
    lowest = std::min(lowest, version);
  }
  return lowest;
}

void collect_table(Links& links, const Cut& cut, size_t table, uint64_t epoch,
                   const TableWriter::Sink& sink, const WaitUntil& wait) {
  const TableSpec& spec = cut.trainer.tables[table];
  const PartFormat format = part_format(table_options(spec));
  std::optional<TableWriter> out;
  for (const TablePlace& place : table_places(cut)) {
    if (place.table != table) continue;
    fetch_rows(links, place, spec.param, epoch, wait,
               [&](std::span<const std::byte> chunk, uint64_t version) {
                 read_part(chunk, format);
                 if (!out) out.emplace(sink, TableHead{spec, version});
                 out->part(chunk);
               });
  }
  out->end();
}

// What slices share is taken where the slices are furthest behind: that is the step which training
// goes on from. A shard without slices has never counted.
uint64_t collect_values(Links& links, const Cut& cut, const Scope& scope, uint64_t epoch,
                        const WaitUntil& wait) {
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
  step = std::min(step, collect_arrays(links, cut, scope, epoch, wait, true));
  const std::vector<ShardValue> shared = shared_values(cut, last, scope);
  if (shared.empty()) return step;
  queues.clear();
  queues.emplace_back(links, last, shared);
  fetch_all(queues, wait);
  return std::min(step, links[last].lowest_version());
}

}  // namespace paddle
