// Whole values to and from the shards: the first ones, and those that are saved.
#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "io/program_buffer.h"
#include "trainer/ps_wait.h"

namespace paddle {
namespace {

constexpr size_t value_chunk = 4u << 20;  // bytes of one SetValue or Fetch

// Where a variable of a shard comes from in the scope: the whole of it, or the rows of a slice.
struct Origin {
  std::string name;  // in the shard's program
  Tensor tensor;     // shares the scope's memory
};

// Of a shard: the rows of slices and of their optimizer state.
std::vector<Origin> slice_origins(const Cut& cut, size_t shard, const Scope& scope) {
  std::vector<Origin> out;
  const auto rows = [&](const std::string& name, const std::string& source, const SliceSpec& s) {
    const Tensor& whole = scope.tensor(source);
    const Var& there = cut.pservers[shard].global().var(name);
    out.push_back({name, whole.shape() == there.shape
                             ? whole
                             : whole.rows(s.first_row, s.first_row + s.shape[0])});
  };
  for (const SliceSpec& s : cut.slices) {
    if (s.shard != shard) continue;
    rows(s.name, s.param, s);
    for (const std::string& state : s.states) rows(state, state, s);
  }
  return out;
}

// What all slices of a shard share.
std::vector<Origin> shared_origins(const Cut& cut, size_t shard, const Scope& scope) {
  std::vector<Origin> out;
  for (const std::string& name : cut.shared)
    if (cut.pservers[shard].global().find(name)) out.push_back({name, scope.tensor(name)});
  return out;
}

// Every variable that the shard keeps, with its memory here.
std::vector<Origin> origins(const Cut& cut, size_t shard, const Scope& scope) {
  std::vector<Origin> out = slice_origins(cut, shard, scope);
  for (Origin& o : shared_origins(cut, shard, scope)) out.push_back(std::move(o));
  return out;
}

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

}  // namespace

std::string PsClient::initial_digest() {
  uint64_t h = 0;
  for (size_t shard = 0; shard < links_.size(); ++shard)
    for (const Origin& o : origins(cut_, shard, scope_))
      h = hash_bytes(o.tensor, h ^ hash_text(o.name));
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}

void PsClient::configure(const JoinDecision& d) {
  // Async goes on with the values of now; sync starts again, with the bits that it began with.
  const bool with_slices = std::any_of(d.shards.begin(), d.shards.end(),
                                       [&](size_t shard) { return holds_slices(shard); });
  if (with_slices && joined_once_ && options_.hello.mode == wire::Mode::sync) {
    first_values_();
    locate();
  }
  if (with_slices && d.reset) {
    log_warn(text("all go back to step ", d.step,
                  ": start pservers with --snapshot_dir to go back less after a crash"));
  }
  for (const size_t shard : d.shards) {
    const std::vector<Origin> values = origins(cut_, shard, scope_);
    request({shard}, "to take its first values", [&](ShardLink& link, uint64_t id) {
      wire::Connection& c = link.connection();
      wire::Configure configuration{.epoch = d.epoch,
                                    .step = d.step,
                                    .reset = d.reset,
                                    .init = init_,
                                    .program = to_flatbuffer(cut_.pservers[shard])};
      for (const SliceLine& l : lines_)
        if (l.spec->shard == shard)
          configuration.slices.push_back(
              {l.id, l.spec->name, l.spec->merged_grad, static_cast<int32_t>(l.spec->block)});
      for (const Origin& o : values)
        configuration.variables.push_back({o.name,
                                           static_cast<uint8_t>(o.tensor.dtype()),
                                           {o.tensor.shape().begin(), o.tensor.shape().end()}});
      // A shard without values has nothing more to wait for, and answers this message itself.
      c.send(values.empty() ? id : 0, configuration);
      for (size_t i = 0; i < values.size(); ++i) {
        const wire::Bytes all{static_cast<const std::byte*>(values[i].tensor.raw()),
                              values[i].tensor.bytes()};
        for (size_t at = 0; at == 0 || at < all.size(); at += value_chunk) {
          const wire::Bytes part = all.subspan(at, std::min(value_chunk, all.size() - at));
          const bool last = i + 1 == values.size() && at + part.size() == all.size();
          c.send(last ? id : 0, wire::SetValue{d.epoch, static_cast<uint32_t>(i), at, last}, part);
        }
      }
    });
  }
}

// One variable of a shard; the version that the shard told with it.
uint64_t PsClient::fetch(size_t shard, const std::string& name, const Tensor& to) {
  ShardLink& link = *links_[shard];
  for (size_t at = 0; at < to.bytes(); at += value_chunk) {
    const size_t n = std::min(value_chunk, to.bytes() - at);
    if (!link.open()) throw Disrupted{link.trouble()};
    const uint64_t id = link.expect_ack({static_cast<std::byte*>(to.raw()) + at, n});
    link.connection().send(id, wire::Fetch{name, at, n});
    wait([&] { return text("the values of '", name, "' from pserver ", link.endpoint().text()); },
         [&] { return link.acked(id); });
  }
  return link.acked_version();
}

// What slices share is taken where the slices are furthest behind: that is the step which training
// goes on from. A shard without slices has never counted.
std::optional<uint64_t> PsClient::collect() {
  if (options_.geo_steps > 0) {
    collect_geo();
    return {};
  }
  uint64_t step = ~uint64_t{0};
  guarded([&] {
    size_t last = 0;
    for (size_t shard = 0; shard < links_.size(); ++shard)
      for (const Origin& o : slice_origins(cut_, shard, scope_)) {
        const uint64_t version = fetch(shard, o.name, o.tensor);
        if (version < step) last = shard;
        step = std::min(step, version);
      }
    for (const Origin& o : shared_origins(cut_, last, scope_)) step = fetch(last, o.name, o.tensor);
  });
  return step;
}

// Geo: the optimizer's state is here, and so are the values that training goes on with. Those of
// the shards are the result once this trainer has finished.
void PsClient::collect_geo() {
  if (!finished_) return;
  guarded([&] {
    for (SliceLine& line : lines_) pull_line(line, 0);
    wait([&] { return pending_text(); },
         [&] {
           return std::none_of(lines_.begin(), lines_.end(), [](auto& l) { return l.awaited; });
         });
    for (const SliceLine& line : lines_)
      std::memcpy(line.value, line.incoming.data(), static_cast<size_t>(line.spec->bytes()));
  });
}

}  // namespace paddle
