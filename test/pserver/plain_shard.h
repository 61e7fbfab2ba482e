// A shard without sockets, clock or disk: events by plain calls, the time is given, and what it
// sends is kept. Snapshots live in memory.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/program_buffer.h"
#include "io/table_buffer.h"
#include "pserver/shard.h"
#include "pserver/small_job.h"
#include "wire/frame.h"

namespace paddle {

class MemoryDisk final : public SnapshotDisk {
 public:
  std::vector<uint64_t> steps() const override {
    std::vector<uint64_t> out;
    if (!has_ended)
      for (const auto& [step, s] : kept) out.push_back(step);
    return out;
  }
  std::optional<Snapshot> newest() override {
    if (has_ended || kept.empty()) return {};
    return copy(kept.rbegin()->second);
  }
  Snapshot load(uint64_t step) override {
    require(kept.count(step) == 1, Error::Kind::data, "there is no snapshot of step ", step);
    return copy(kept.at(step));
  }
  void set_aside(uint64_t step) override { kept.erase(step); }
  void write(Snapshot s) override {
    const uint64_t step = s.step;
    problem.clear();
    if (!directory.empty()) {
      try {
        write_snapshot(directory + "/" + snapshot_name(step), s);
      } catch (const Error& e) {
        problem = e.what();
        unreported.push_back(step);
        return;
      }
      s.tables = read_snapshot(directory + "/" + snapshot_name(step)).tables;
      kept.insert_or_assign(step, std::move(s));
      unreported.push_back(step);
      return;
    }
    for (size_t i = 0; i < s.tables.size(); ++i) {
      SnapshotTable& t = s.tables[i];
      if (t.since > 0) {
        const SnapshotTable& base = kept.at(t.base).tables[i];
        REQUIRE(base.mark == t.since);
        t.dumps = base.dumps;
        t.dump = std::make_shared<DumpChain>(std::vector{base.dump, t.dump});
      }
      t.dumps.push_back({{}, t.since, t.mark});
    }
    kept.insert_or_assign(step, std::move(s));
    unreported.push_back(step);
  }
  void remove_after(uint64_t step) override { kept.erase(kept.upper_bound(step), kept.end()); }
  void mark_ended(const EndedJob& job) override {
    has_ended = true;
    last = job;
  }
  std::optional<EndedJob> ended() const override { return has_ended ? last : std::nullopt; }
  void begin_job() override {
    has_ended = false;
    kept.clear();
  }
  std::map<uint64_t, Snapshot> kept;
  std::vector<uint64_t> unreported;
  std::string directory;  // where it is written to as well; "": nowhere
  std::string problem;    // of the last write
  bool has_ended = false;
  std::optional<EndedJob> last;

 private:
  static Snapshot copy(const Snapshot& s) {  // a restored store takes the memory
    Snapshot out = s;
    for (Tensor& t : out.values) t = t.clone();
    return out;
  }
};

struct Reply {
  wire::Body body;
  std::vector<wire::ValuesPart> parts;
  std::vector<std::byte> bulk;
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(body);
  }
  bool failed(wire::FailureCode code) const {
    const auto* f = std::get_if<wire::Failure>(&body);
    return f != nullptr && f->code == code;
  }
  std::vector<float> values() const { return floats_of(bulk); }
};

class PlainShard {
 public:
  explicit PlainShard(ShardOptions o = {}, MemoryDisk* memory = nullptr)
      : options(std::move(o)), disk(memory), shard(options, memory, "", 1, now) {}

  void pass(double seconds) {
    now += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
  }
  void tick(double after = 1) {
    pass(after);
    shard.tick(now);
    act();
  }
  // A connection that has greeted; the id of the trainer is also its incarnation's.
  PeerId greet(uint32_t trainer, uint32_t trainers = 2, wire::Mode mode = wire::Mode::sync,
               uint64_t incarnation = 0) {
    wire::Hello h = hello(trainer, trainers);
    h.mode = mode;
    if (incarnation != 0) h.incarnation = incarnation;
    return greet(h);
  }
  static wire::Hello hello(uint32_t trainer, uint32_t trainers = 2) {
    wire::Hello h{.protocol = wire::protocol_version, .job = "job", .program = "abc"};
    h.trainer = trainer;
    h.trainers = trainers;
    h.incarnation = 1000 + trainer;
    return h;
  }
  PeerId greet(wire::Hello h) {
    const PeerId peer = next_peer++;
    shard.opened(peer, "address", now);
    h.process = text("host:", h.incarnation);
    say(peer, h);
    return peer;
  }
  template <class X>
  uint64_t say(PeerId peer, X body, std::vector<std::byte> bulk = {}) {
    const uint64_t id = ++last_id;
    Sending s{id, wire::Message{id, wire::Body(std::move(body))}, std::move(bulk), {}, 0};
    begin(peer, std::move(s));
    finish(peer);
    return id;
  }
  // `continues`: with the values of a trainer in the middle of its work.
  void configure(PeerId peer, const SmallJob& job, bool continues = false) {
    wire::Configure c{.values_digest = "init", .program = to_flatbuffer(job.config.program)};
    c.continues = continues;
    if (continues) c.origins = {{5, 3}};
    for (const SliceInfo& s : job.config.slices)
      c.slices.push_back({s.id, s.name, s.grad, s.block});
    for (const KeptVariable& v : job.config.variables)
      c.variables.push_back(
          {v.name, static_cast<uint8_t>(v.dtype), {v.shape.begin(), v.shape.end()}});
    for (const TableInfo& t : job.config.tables)
      c.tables.push_back({t.id, t.part, t.parts, to_flatbuffer(t.spec)});
    say(peer, c);
    for (uint32_t i = 0; i < job.values.size(); ++i) {
      const Tensor& t = job.values[i];
      const auto* from = static_cast<const std::byte*>(t.raw());
      say(peer, wire::SetValue{0, i, 0, i + 1 == job.values.size()}, {from, from + t.bytes()});
    }
  }
  struct Part {
    uint32_t slice;
    std::vector<float> grad;
    uint64_t based_on = 0;
  };
  // Sends the head and all of the bulk, or only a part of it: the rest comes with finish().
  uint64_t push(PeerId peer, uint64_t step, const std::vector<Part>& parts, bool whole = true,
                uint64_t epoch = 0) {
    const uint64_t id = ++last_id;
    Sending s{.id = id, .message = {}, .bulk = {}, .parts = {}, .sent = 0};
    for (const Part& p : parts) {
      s.parts.push_back({p.based_on, p.slice, 0});
      const std::byte* from = bytes_of(p.grad);
      s.bulk.insert(s.bulk.end(), from, from + p.grad.size() * sizeof(float));
    }
    wire::Push body{.step = step, .epoch = epoch, .pull = true};
    body.begin.record = step * 10;
    body.end.record = step * 10 + 10;
    s.message = {id, body};
    s.whole = whole;
    begin(peer, std::move(s));
    if (whole) finish(peer);
    return id;
  }
  uint64_t pull(PeerId peer, uint32_t slice, uint64_t version) {
    pull_part = {version, slice, 0};
    return say(peer, wire::Pull{0, {&pull_part, 1}});
  }
  // Rows of a part of a table: their ids, and gradients one behind the other.
  uint64_t push_rows(PeerId peer, uint32_t part, uint64_t step, const std::vector<uint64_t>& ids,
                     const std::vector<float>& grads, uint64_t epoch = 0) {
    const uint64_t id = ++last_id;
    Sending s{.id = id, .message = {}, .bulk = {}, .parts = {}, .sent = 0};
    s.parts.push_back({0, part, static_cast<uint32_t>(ids.size())});
    append(s.bulk, std::as_bytes(std::span(ids)));
    append(s.bulk, std::as_bytes(std::span(grads)));
    wire::Push body{.step = step, .epoch = epoch, .pull = true};
    body.begin.record = step * 10;
    body.end.record = step * 10 + 10;
    s.message = {id, body};
    begin(peer, std::move(s));
    finish(peer);
    return id;
  }
  uint64_t pull_rows(PeerId peer, uint32_t part, uint64_t version, const std::vector<uint64_t>& ids,
                     uint64_t epoch = 0) {
    std::vector<std::byte> bulk;
    append(bulk, std::as_bytes(std::span(ids)));
    return say(peer, wire::PullRows{epoch, version, part, static_cast<uint32_t>(ids.size())},
               std::move(bulk));
  }
  bool held(PeerId peer) const {
    return busy(peer) && sending.at(peer).memory.empty() && !sending.at(peer).discards;
  }
  bool busy(PeerId peer) const { return sending.count(peer) > 0; }
  // The rest of the bulk arrives, unless the peer is held.
  void finish(PeerId peer) {
    const auto it = sending.find(peer);
    if (it == sending.end() || (it->second.memory.empty() && !it->second.discards)) return;
    Sending s = std::move(it->second);
    sending.erase(it);
    copy(peer, s, s.bulk.size());
    point(s);
    shard.handle(peer, s.message, s.bulk.size(), now);
    act();
  }
  void close(PeerId peer) {
    sending.erase(peer);
    shard.gone(peer, "closed", now);
    act();
  }
  bool answered(uint64_t id) const { return replies.count(id) > 0; }
  const Reply& reply(uint64_t id) { return replies[id]; }
  const Reply& last_reply() { return replies[last_id]; }  // to what was said last
  std::string last_failure() {
    const auto* f = std::get_if<wire::Failure>(&last_reply().body);
    return f ? f->message : "";
  }

  Time now = Time{} + std::chrono::hours(1);
  ShardOptions options;
  MemoryDisk* disk;
  Shard shard;
  std::map<uint64_t, Reply> replies;
  std::vector<PeerId> closed;
  int proceeded = 0;
  bool disk_reports = true;

 private:
  struct Sending {
    uint64_t id;
    wire::Message message;
    std::vector<std::byte> bulk;
    std::vector<wire::PushPart> parts;
    size_t sent = 0;
    std::span<std::byte> memory = {};
    bool discards = false;
    bool whole = true;  // nothing but the shard keeps the rest back
  };
  static void append(std::vector<std::byte>& to, std::span<const std::byte> from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  static void point(Sending& s) {
    if (auto* p = std::get_if<wire::Push>(&s.message.body)) p->parts = s.parts;
  }
  void begin(PeerId peer, Sending s) {
    REQUIRE(sending.count(peer) == 0);
    s.discards = s.bulk.empty();
    sending.emplace(peer, std::move(s));
    if (!sending.at(peer).discards) land(peer);
  }
  void land(PeerId peer) {
    Sending& s = sending.at(peer);
    point(s);
    const LandingPlace place = shard.land(peer, s.message, s.bulk.size(), now);
    s.discards = place.kind == LandingPlace::Kind::discard;
    if (place.kind == LandingPlace::Kind::into) {
      REQUIRE(place.memory.size() == s.bulk.size());
      s.memory = place.memory;
      copy(peer, s, s.bulk.size() / 2);
    }
    act();
  }
  void copy(PeerId peer, Sending& s, size_t until) {
    if (s.memory.empty() || until <= s.sent) return;
    std::copy_n(s.bulk.data() + s.sent, until - s.sent, s.memory.data() + s.sent);
    shard.landed(peer, until - s.sent);
    s.sent = until;
  }
  void act() {
    Outbox& out = shard.outbox();
    std::vector<PeerId> ends, resumes;
    for (size_t i = 0; i < out.size(); ++i) {
      ShardAction& a = out[i];
      if (a.kind == ShardAction::Kind::close) ends.push_back(a.peer);
      if (a.kind == ShardAction::Kind::resume) resumes.push_back(a.peer);
      if (a.kind != ShardAction::Kind::send) continue;
      Reply& r = replies[a.id];
      r.body = out.body(a);
      r.bulk = a.kept;
      r.parts.clear();
      if (const auto* v = std::get_if<wire::Values>(&r.body))
        r.parts.assign(v->parts.begin(), v->parts.end());
      for (const Bytes& b : out.bulk(a)) r.bulk.insert(r.bulk.end(), b.begin(), b.end());
    }
    const bool more = out.continues;
    out.clear();
    shard.release_retired();
    for (const PeerId p : ends) {
      closed.push_back(p);
      close(p);
    }
    for (const PeerId p : resumes) {
      if (!busy(p)) continue;
      land(p);
      if (busy(p) && sending.at(p).whole) finish(p);
    }
    while (disk && disk_reports && !disk->unreported.empty()) {
      const uint64_t step = disk->unreported.front();
      disk->unreported.erase(disk->unreported.begin());
      shard.written(step, disk->problem, now);
      act();
    }
    if (!more) return;
    ++proceeded;
    shard.proceed(now);
    act();
  }

  PeerId next_peer = 0;
  uint64_t last_id = 0;
  wire::PullPart pull_part;
  std::map<PeerId, Sending> sending;
};

}  // namespace paddle
