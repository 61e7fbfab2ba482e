// From bytes to plain structs. Nothing of what came is believed: structure first, under limits that
// grow with the bytes that came, then enum values, then where lists lie.
#include <wire_generated.h>

#include <bit>
#include <cstring>
#include <tuple>

#include "base/error.h"
#include "wire/messages.h"

namespace paddle::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes of a frame are little-endian");

constexpr flatbuffers::uoffset_t max_depth = 5;  // Message, Status, Totals, Sums, Number
constexpr size_t least_table = 16;               // bytes of the smallest table with its reference

// Reads one head. What it copies comes to no more than the bytes of the head: a list whose entries
// all refer to the same long string would otherwise make any amount of memory.
class Reader {
 public:
  explicit Reader(size_t bytes) : left_(bytes) {}

  std::string text(const flatbuffers::String* s) {
    if (s == nullptr) return {};
    charge(s->size());
    return s->str();
  }

  // Numbers of 8 bytes may lie anywhere: the verifier does not check the alignment of elements.
  template <class T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* v) {
    if (v == nullptr) return {};
    charge(uint64_t{v->size()} * sizeof(T));
    std::vector<T> out(v->size());
    if (!out.empty()) std::memcpy(out.data(), v->Data(), out.size() * sizeof(T));
    return out;
  }

  // Structs that are used where they lie.
  template <class Plain, class Generated>
  std::span<const Plain> structs(const flatbuffers::Vector<const Generated*>* v) {
    static_assert(sizeof(Plain) == sizeof(Generated) && alignof(Plain) == alignof(Generated));
    if (v == nullptr || v->size() == 0) return {};
    require(reinterpret_cast<uintptr_t>(v->Data()) % alignof(Plain) == 0, Error::Kind::protocol,
            "a message with a list that is not aligned");
    return {reinterpret_cast<const Plain*>(v->Data()), v->size()};
  }

  template <class Plain, class Generated>
  std::vector<Plain> copied(const flatbuffers::Vector<const Generated*>* v) {
    static_assert(sizeof(Plain) == sizeof(Generated) && std::is_trivially_copyable_v<Plain>);
    if (v == nullptr || v->size() == 0) return {};
    charge(uint64_t{v->size()} * sizeof(Plain));
    std::vector<Plain> out(v->size());
    std::memcpy(out.data(), v->Data(), out.size() * sizeof(Plain));
    return out;
  }

  template <class Plain, class Generated>
  Plain known(Generated value) const {
    require(value <= Generated::MAX, Error::Kind::protocol, "a message with the unknown value ",
            static_cast<int>(value), " of an enumeration");
    return static_cast<Plain>(value);
  }

 private:
  void charge(uint64_t bytes) {
    require(bytes <= left_, Error::Kind::protocol, "a message whose parts overlap");
    left_ -= bytes;
  }

  uint64_t left_;
};

Position plain(const msg::Position& p) { return {p.pass(), p.record(), p.batch(), p.samples()}; }

Hello read(Reader& r, const msg::Hello& m) {
  return {.protocol = m.protocol(),
          .build = r.text(m.build()),
          .role = r.known<Role>(m.role()),
          .job = r.text(m.job()),
          .mode = r.known<Mode>(m.mode()),
          .trainer = m.trainer(),
          .trainers = m.trainers(),
          .incarnation = m.incarnation(),
          .shard = m.shard(),
          .shards = m.shards(),
          .program = r.text(m.program()),
          .process = r.text(m.process()),
          .takes_id = m.takes_id(),
          .outline = r.text(m.outline()),
          .renewal = m.renewal(),
          .new_job = m.new_job(),
          .finished = m.finished()};
}

std::vector<Origin> read_origins(Reader& r,
                                 const flatbuffers::Vector<const msg::Origin*>* origins) {
  std::vector<Origin> out;
  for (const msg::Origin& o : r.structs<msg::Origin>(origins))
    out.push_back({o.instance(), o.version()});
  require(out.size() <= max_origins, Error::Kind::protocol, "values with ", out.size(),
          " origins; there are at most ", max_origins);
  return out;
}

Welcome read(Reader& r, const msg::Welcome& m) {
  Welcome out{.instance = m.instance(),
              .epoch = m.epoch(),
              .state = r.known<ShardState>(m.state()),
              .trainer = m.trainer(),
              .values_digest = r.text(m.values_digest()),
              .configured_by = r.text(m.configured_by()),
              .snapshots = r.numbers(m.snapshots()),
              .lost = m.lost(),
              .base = m.base(),
              .saved = m.saved(),
              .oldest = m.oldest(),
              .forgot = m.forgot(),
              .result = m.result(),
              .origins = read_origins(r, m.origins())};
  for (const msg::SliceState& s : r.structs<msg::SliceState>(m.slices()))
    out.slices.push_back({s.slice(), s.version(), s.contributed() != 0, s.last_step()});
  if (const msg::LastPush* p = m.last_push())
    out.last_push = {p->step(), plain(p->begin()), plain(p->end())};
  return out;
}

Configure read(Reader& r, const msg::Configure& m) {
  const std::vector<uint8_t> program = r.numbers(m.program());
  Configure out{.epoch = m.epoch(),
                .step = m.step(),
                .reset = m.reset(),
                .continues = m.continues(),
                .values_digest = r.text(m.values_digest()),
                .program = std::string(program.begin(), program.end()),
                .origins = read_origins(r, m.origins())};
  for (const msg::ConfiguredSlice* s : *m.slices())
    out.slices.push_back({s->id(), r.text(s->name()), r.text(s->grad()), s->block()});
  for (const msg::ConfiguredVariable* v : *m.variables())
    out.variables.push_back({r.text(v->name()), v->dtype(), r.numbers(v->dims())});
  if (m.tables() != nullptr)
    for (const msg::ConfiguredTable* t : *m.tables()) {
      const std::vector<uint8_t> spec = r.numbers(t->spec());
      out.tables.push_back(
          {t->id(), t->part(), t->parts(), {spec.begin(), spec.end()}, t->rows_follow()});
    }
  return out;
}

SetValue read(Reader&, const msg::SetValue& m) {
  return {.epoch = m.epoch(), .index = m.index(), .offset = m.offset(), .last = m.last()};
}

Join read(Reader&, const msg::Join& m) { return {m.epoch(), m.step()}; }

Push read(Reader& r, const msg::Push& m) {
  return {.step = m.step(),
          .epoch = m.epoch(),
          .begin = plain(*m.begin()),
          .end = plain(*m.end()),
          .pull = m.pull(),
          .parts = r.structs<PushPart>(m.parts())};
}

Pull read(Reader& r, const msg::Pull& m) { return {m.epoch(), r.structs<PullPart>(m.parts())}; }

Values read(Reader& r, const msg::Values& m) { return {r.structs<ValuesPart>(m.parts())}; }

PullRows read(Reader&, const msg::PullRows& m) {
  return {.epoch = m.epoch(), .version = m.version(), .slice = m.slice(), .rows = m.rows()};
}

SetRows read(Reader&, const msg::SetRows& m) {
  return {.epoch = m.epoch(), .slice = m.slice(), .last = m.last()};
}

FetchRows read(Reader&, const msg::FetchRows& m) {
  return {.epoch = m.epoch(), .from = m.from(), .slice = m.slice(), .number = m.part()};
}

Fetch read(Reader& r, const msg::Fetch& m) { return {r.text(m.variable()), m.offset(), m.bytes()}; }

Rollback read(Reader&, const msg::Rollback& m) { return {m.epoch(), m.step()}; }

Complete read(Reader& r, const msg::Complete& m) {
  return {r.known<Phase>(m.phase()), m.epoch(), m.result()};
}

Progress read(Reader& r, const msg::Progress& m) {
  return {.step = m.step(),
          .pass = m.pass(),
          .passes = m.passes(),
          .batch = m.batch(),
          .batches = m.batches(),
          .samples = m.samples(),
          .rate = m.rate(),
          .cost = m.cost(),
          .state = r.text(m.state()),
          .error = r.text(m.error()),
          .echo = m.echo(),
          .cache_hits = m.cache_hits(),
          .cache_misses = m.cache_misses(),
          .cache_rows = m.cache_rows(),
          .cache_bytes = m.cache_bytes()};
}

BeatAck read(Reader& r, const msg::BeatAck& m) {
  return {.epoch = m.epoch(),
          .waiting = r.text(m.waiting()),
          .finished = m.finished(),
          .failure = r.text(m.failure()),
          .saved = m.saved(),
          .instance = m.instance(),
          .number = m.number(),
          .result = m.result(),
          .left = m.left()};
}

Ack read(Reader&, const msg::Ack& m) { return {m.version(), m.next()}; }

Failure read(Reader& r, const msg::Failure& m) {
  return {r.known<FailureCode>(m.code()), r.text(m.message())};
}

StatusAsk read(Reader&, const msg::StatusAsk&) { return {}; }

Command read(Reader& r, const msg::Command& m) { return {r.known<Order>(m.order()), m.step()}; }

MemberStatus read(Reader& r, const msg::MemberStatus& m) {
  MemberStatus out{.trainer = m.trainer(),
                   .state = r.text(m.state()),
                   .process = r.text(m.process()),
                   .seconds = m.seconds(),
                   .step = m.step(),
                   .staleness_max = m.staleness_max(),
                   .staleness_mean = m.staleness_mean(),
                   .dropped = m.dropped(),
                   .not_finite = m.not_finite(),
                   .bytes_in = m.bytes_in(),
                   .bytes_out = m.bytes_out(),
                   .messages_in = m.messages_in(),
                   .messages_out = m.messages_out(),
                   .applied = m.applied(),
                   .joins = m.joins(),
                   .lacking = m.lacking(),
                   .staleness = r.numbers(m.staleness())};
  if (m.progress() != nullptr) out.progress = read(r, *m.progress());
  return out;
}

Tally read(Reader& r, const msg::Tally& m) {
  Tally out{.pass = m.pass(),
            .batch = m.batch(),
            .first_batch = m.first_batch(),
            .pass_ended = m.pass_ended(),
            .samples = m.samples(),
            .cost = m.cost()};
  if (m.counts() != nullptr)
    for (const msg::Count* c : *m.counts())
      out.counts.push_back({.name = r.text(c->name()),
                            .kind = r.known<CountKind>(c->kind()),
                            .over = c->over(),
                            .under = c->under(),
                            .bins = r.copied<BinCount>(c->bins())});
  return out;
}

Sums read(Reader& r, const msg::Sums& m) {
  Sums out{.samples = m.samples(), .cost = m.cost()};
  if (m.evaluators() != nullptr)
    for (const msg::Number* n : *m.evaluators())
      out.evaluators.push_back({r.text(n->name()), n->value()});
  return out;
}

Totals read(Reader& r, const msg::Totals& m) {
  Totals out{.pass = m.pass(),
             .batch = m.batch(),
             .pass_ended = m.pass_ended(),
             .trainers = m.trainers(),
             .first_batch = m.first_batch()};
  if (m.whole() != nullptr) out.whole = read(r, *m.whole());
  if (m.period() != nullptr) out.period = read(r, *m.period());
  return out;
}

Status read(Reader& r, const msg::Status& m) {
  Status out{.instance = m.instance(),
             .build = r.text(m.build()),
             .job = r.text(m.job()),
             .mode = r.known<Mode>(m.mode()),
             .state = r.known<ShardState>(m.state()),
             .sparse = m.sparse(),
             .epoch = m.epoch(),
             .uptime = m.uptime(),
             .step = m.step(),
             .steps_per_second = m.steps_per_second(),
             .bytes_in = m.bytes_in(),
             .bytes_out = m.bytes_out(),
             .messages_in = m.messages_in(),
             .messages_out = m.messages_out(),
             .cpu_seconds = m.cpu_seconds(),
             .snapshots = r.numbers(m.snapshots()),
             .waiting = r.text(m.waiting()),
             .memory = m.memory(),
             .memory_held = m.memory_held(),
             .memory_limit = m.memory_limit(),
             .snapshot_age = m.snapshot_age(),
             .clock = m.clock(),
             .snapshots_written = m.snapshots_written(),
             .snapshots_failed = m.snapshots_failed(),
             .snapshot_seconds = m.snapshot_seconds(),
             .snapshot_last = m.snapshot_last(),
             .waiting_requests = m.waiting_requests(),
             .queued_bytes = m.queued_bytes()};
  if (m.members() != nullptr)
    for (const msg::MemberStatus* x : *m.members()) out.members.push_back(read(r, *x));
  if (m.slices() != nullptr)
    for (const msg::SliceStatus* s : *m.slices())
      out.slices.push_back({r.text(s->name()), s->bytes(), s->version(), r.text(s->waiting())});
  if (m.tables() != nullptr)
    for (const msg::TableStatus* t : *m.tables())
      out.tables.push_back({.name = r.text(t->name()),
                            .part = t->part(),
                            .parts = t->parts(),
                            .version = t->version(),
                            .rows = t->rows(),
                            .bytes = t->bytes(),
                            .created = t->created(),
                            .not_admitted = t->not_admitted(),
                            .expired = t->expired(),
                            .evicted = t->evicted(),
                            .waiting = r.text(t->waiting()),
                            .pulled = t->pulled(),
                            .missed = t->missed()});
  if (m.totals() != nullptr) out.totals = read(r, *m.totals());
  if (m.last_errors() != nullptr)
    for (const flatbuffers::String* e : *m.last_errors()) out.last_errors.push_back(r.text(e));
  return out;
}

// In the order of Body; the union's number of a type is its place in it, counted from 1.
using Tables =
    std::tuple<msg::Hello, msg::Welcome, msg::Configure, msg::SetValue, msg::Join, msg::Push,
               msg::Pull, msg::Values, msg::Fetch, msg::Rollback, msg::Complete, msg::Progress,
               msg::BeatAck, msg::Ack, msg::Failure, msg::StatusAsk, msg::Status, msg::PullRows,
               msg::SetRows, msg::FetchRows, msg::Command, msg::Tally>;

template <size_t I = 0>
void read_body(Reader& r, const msg::Message& m, Body& out) {
  if constexpr (I == std::variant_size_v<Body>) {
    throw Error(Error::Kind::protocol, "a message of the unknown type ",
                static_cast<int>(m.body_type()));
  } else {
    if (static_cast<size_t>(m.body_type()) != I + 1) return read_body<I + 1>(r, m, out);
    using Table = std::tuple_element_t<I, Tables>;
    static_assert(static_cast<size_t>(msg::BodyTraits<Table>::enum_value) == I + 1);
    out.emplace<I>(read(r, *static_cast<const Table*>(m.body())));
  }
}

}  // namespace

Message read_message(Bytes head) {
  const auto* data = reinterpret_cast<const uint8_t*>(head.data());
  flatbuffers::Verifier verifier(
      data, head.size(), max_depth,
      static_cast<flatbuffers::uoffset_t>(head.size() / least_table + 1));
  require(head.size() >= least_table && msg::VerifyMessageBuffer(verifier), Error::Kind::protocol,
          "a message of ", head.size(), " bytes that is damaged");
  const msg::Message& m = *msg::GetMessage(data);
  Message out{.id = m.id(), .body = {}};
  Reader reader(head.size());
  read_body(reader, m, out.body);
  return out;
}

}  // namespace paddle::wire
