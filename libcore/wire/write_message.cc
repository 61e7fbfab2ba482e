// From plain structs to bytes.
#include <wire_generated.h>

#include "wire/messages.h"

namespace paddle::wire {
namespace {

using B = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;

msg::Position generated(const Position& p) { return {p.pass, p.record, p.batch, p.samples}; }

template <class Generated, class Plain>
Offset<flatbuffers::Vector<const Generated*>> structs(B& b, std::span<const Plain> parts) {
  static_assert(sizeof(Plain) == sizeof(Generated) && alignof(Plain) == alignof(Generated));
  return b.CreateVectorOfStructs(reinterpret_cast<const Generated*>(parts.data()), parts.size());
}

Offset<msg::Hello> write(B& b, const Hello& m) {
  const auto build = b.CreateString(m.build), job = b.CreateString(m.job),
             program = b.CreateString(m.program), process = b.CreateString(m.process),
             outline = b.CreateString(m.outline);
  return msg::CreateHello(b, m.protocol, build, static_cast<msg::Role>(m.role), job,
                          static_cast<msg::Mode>(m.mode), m.trainer, m.trainers, m.incarnation,
                          m.shard, m.shards, program, process, m.takes_id, outline, m.renewal,
                          m.new_job, m.finished);
}

Offset<flatbuffers::Vector<const msg::Origin*>> write(B& b, const std::vector<Origin>& origins) {
  std::vector<msg::Origin> out;
  out.reserve(origins.size());
  for (const Origin& o : origins) out.emplace_back(o.instance, o.version);
  return b.CreateVectorOfStructs(out);
}

Offset<msg::Welcome> write(B& b, const Welcome& m) {
  std::vector<msg::SliceState> states;
  states.reserve(m.slices.size());
  for (const SliceState& s : m.slices)
    states.emplace_back(s.version, s.last_step, s.slice, s.contributed ? 1u : 0u);
  const auto digest = b.CreateString(m.values_digest), by = b.CreateString(m.configured_by);
  const auto slices = b.CreateVectorOfStructs(states);
  const auto snapshots = b.CreateVector(m.snapshots);
  const auto origins = write(b, m.origins);
  msg::LastPush last;
  if (m.last_push)
    last = {m.last_push->step, generated(m.last_push->begin), generated(m.last_push->end)};
  return msg::CreateWelcome(b, m.instance, m.epoch, static_cast<msg::ShardState>(m.state),
                            m.trainer, digest, by, slices, snapshots, m.last_push ? &last : nullptr,
                            m.lost, m.base, m.saved, m.oldest, m.forgot, m.result, origins);
}

Offset<msg::Configure> write(B& b, const Configure& m) {
  std::vector<Offset<msg::ConfiguredSlice>> slices;
  slices.reserve(m.slices.size());
  for (const ConfiguredSlice& s : m.slices) {
    const auto name = b.CreateString(s.name), grad = b.CreateString(s.grad);
    slices.push_back(msg::CreateConfiguredSlice(b, s.id, name, grad, s.block));
  }
  std::vector<Offset<msg::ConfiguredVariable>> variables;
  variables.reserve(m.variables.size());
  for (const ConfiguredVariable& v : m.variables) {
    const auto name = b.CreateString(v.name);
    variables.push_back(msg::CreateConfiguredVariable(b, name, v.dtype, b.CreateVector(v.dims)));
  }
  std::vector<Offset<msg::ConfiguredTable>> tables;
  tables.reserve(m.tables.size());
  for (const ConfiguredTable& t : m.tables) {
    const auto spec =
        b.CreateVector(reinterpret_cast<const uint8_t*>(t.spec.data()), t.spec.size());
    tables.push_back(msg::CreateConfiguredTable(b, t.id, t.part, t.parts, spec, t.rows_follow));
  }
  const auto digest = b.CreateString(m.values_digest);
  const auto program =
      b.CreateVector(reinterpret_cast<const uint8_t*>(m.program.data()), m.program.size());
  const auto all_slices = b.CreateVector(slices);
  const auto all_variables = b.CreateVector(variables);
  const auto all_tables = b.CreateVector(tables);
  const auto origins = write(b, m.origins);
  return msg::CreateConfigure(b, m.epoch, m.step, m.reset, digest, program, all_slices,
                              all_variables, m.continues, all_tables, origins);
}

Offset<msg::SetValue> write(B& b, const SetValue& m) {
  return msg::CreateSetValue(b, m.epoch, m.index, m.offset, m.last);
}

Offset<msg::Join> write(B& b, const Join& m) { return msg::CreateJoin(b, m.epoch, m.step); }

Offset<msg::Push> write(B& b, const Push& m) {
  const auto parts = structs<msg::PushPart>(b, m.parts);
  const msg::Position begin = generated(m.begin), end = generated(m.end);
  return msg::CreatePush(b, m.step, m.epoch, &begin, &end, m.pull, parts);
}

Offset<msg::Pull> write(B& b, const Pull& m) {
  const auto parts = structs<msg::PullPart>(b, m.parts);
  return msg::CreatePull(b, m.epoch, parts);
}

Offset<msg::Values> write(B& b, const Values& m) {
  return msg::CreateValues(b, structs<msg::ValuesPart>(b, m.parts));
}

Offset<msg::PullRows> write(B& b, const PullRows& m) {
  return msg::CreatePullRows(b, m.epoch, m.version, m.slice, m.rows);
}

Offset<msg::SetRows> write(B& b, const SetRows& m) {
  return msg::CreateSetRows(b, m.epoch, m.slice, m.last);
}

Offset<msg::FetchRows> write(B& b, const FetchRows& m) {
  return msg::CreateFetchRows(b, m.epoch, m.from, m.slice, m.number);
}

Offset<msg::Fetch> write(B& b, const Fetch& m) {
  const auto variable = b.CreateString(m.variable);
  return msg::CreateFetch(b, variable, m.offset, m.bytes);
}

Offset<msg::Rollback> write(B& b, const Rollback& m) {
  return msg::CreateRollback(b, m.epoch, m.step);
}

Offset<msg::Complete> write(B& b, const Complete& m) {
  return msg::CreateComplete(b, static_cast<msg::Phase>(m.phase), m.epoch, m.result);
}

Offset<msg::Progress> write(B& b, const Progress& m) {
  const auto state = b.CreateString(m.state), error = b.CreateString(m.error);
  return msg::CreateProgress(b, m.step, m.pass, m.passes, m.batch, m.batches, m.samples, m.rate,
                             m.cost, state, error, m.echo, m.cache_hits, m.cache_misses,
                             m.cache_rows, m.cache_bytes);
}

Offset<msg::BeatAck> write(B& b, const BeatAck& m) {
  const auto waiting = b.CreateString(m.waiting), failure = b.CreateString(m.failure);
  return msg::CreateBeatAck(b, m.epoch, waiting, m.finished, failure, m.saved, m.instance, m.number,
                            m.result, m.left);
}

Offset<msg::Ack> write(B& b, const Ack& m) { return msg::CreateAck(b, m.version, m.next); }

Offset<msg::Failure> write(B& b, const Failure& m) {
  const auto message = b.CreateString(m.message);
  return msg::CreateFailure(b, static_cast<msg::FailureCode>(m.code), message);
}

Offset<msg::StatusAsk> write(B& b, const StatusAsk&) { return msg::CreateStatusAsk(b); }

Offset<msg::Command> write(B& b, const Command& m) {
  return msg::CreateCommand(b, static_cast<msg::Order>(m.order), m.step);
}

Offset<msg::MemberStatus> write(B& b, const MemberStatus& m) {
  const auto state = b.CreateString(m.state), process = b.CreateString(m.process);
  const auto progress = write(b, m.progress);
  const auto staleness = b.CreateVector(m.staleness);
  return msg::CreateMemberStatus(b, m.trainer, state, process, m.seconds, m.step, progress,
                                 m.staleness_max, m.staleness_mean, m.dropped, m.not_finite,
                                 m.bytes_in, m.bytes_out, m.messages_in, m.messages_out, m.applied,
                                 m.joins, m.lacking, staleness);
}

Offset<msg::Tally> write(B& b, const Tally& m) {
  std::vector<Offset<msg::Count>> counts;
  for (const Count& c : m.counts) {
    const auto name = b.CreateString(c.name);
    const auto bins = structs<msg::BinCount>(b, std::span<const BinCount>(c.bins));
    counts.push_back(
        msg::CreateCount(b, name, static_cast<msg::CountKind>(c.kind), c.over, c.under, bins));
  }
  const auto all = b.CreateVector(counts);
  return msg::CreateTally(b, m.pass, m.batch, m.first_batch, m.pass_ended, m.samples, m.cost, all);
}

Offset<msg::Sums> write(B& b, const Sums& m) {
  std::vector<Offset<msg::Number>> numbers;
  for (const Number& n : m.evaluators) {
    const auto name = b.CreateString(n.name);
    numbers.push_back(msg::CreateNumber(b, name, n.value));
  }
  const auto all = b.CreateVector(numbers);
  return msg::CreateSums(b, m.samples, m.cost, all);
}

Offset<msg::Totals> write(B& b, const Totals& m) {
  const auto whole = write(b, m.whole);
  const auto period = m.period ? write(b, *m.period) : Offset<msg::Sums>();
  return msg::CreateTotals(b, m.pass, m.batch, m.pass_ended, m.trainers, m.first_batch, whole,
                           period);
}

Offset<msg::Status> write(B& b, const Status& m) {
  std::vector<Offset<msg::MemberStatus>> members;
  for (const MemberStatus& x : m.members) members.push_back(write(b, x));
  std::vector<Offset<msg::SliceStatus>> slices;
  slices.reserve(m.slices.size());
  for (const SliceStatus& s : m.slices) {
    const auto name = b.CreateString(s.name), waiting = b.CreateString(s.waiting);
    slices.push_back(msg::CreateSliceStatus(b, name, s.bytes, s.version, waiting));
  }
  std::vector<Offset<msg::TableStatus>> tables;
  tables.reserve(m.tables.size());
  for (const TableStatus& t : m.tables) {
    const auto name = b.CreateString(t.name), lacks = b.CreateString(t.waiting);
    tables.push_back(msg::CreateTableStatus(b, name, t.part, t.parts, t.version, t.rows, t.bytes,
                                            t.created, t.not_admitted, t.expired, t.evicted, lacks,
                                            t.pulled, t.missed));
  }
  const auto build = b.CreateString(m.build), job = b.CreateString(m.job),
             waiting = b.CreateString(m.waiting);
  const auto all_members = b.CreateVector(members);
  const auto all_slices = b.CreateVector(slices);
  const auto snapshots = b.CreateVector(m.snapshots);
  const auto errors = b.CreateVectorOfStrings(m.last_errors);
  const auto all_tables = b.CreateVector(tables);
  const auto totals = write(b, m.totals);
  return msg::CreateStatus(
      b, m.instance, build, job, static_cast<msg::Mode>(m.mode),
      static_cast<msg::ShardState>(m.state), m.sparse, m.epoch, m.uptime, m.step,
      m.steps_per_second, m.bytes_in, m.bytes_out, m.messages_in, m.messages_out, m.cpu_seconds,
      all_members, all_slices, snapshots, errors, waiting, m.memory, m.memory_held, m.memory_limit,
      all_tables, m.snapshot_age, m.clock, m.snapshots_written, m.snapshots_failed,
      m.snapshot_seconds, m.snapshot_last, m.waiting_requests, m.queued_bytes, totals);
}

}  // namespace

struct MessageWriter::Builder {
  B buffer{512};
};

MessageWriter::MessageWriter() : builder_(std::make_unique<Builder>()) {}
MessageWriter::~MessageWriter() = default;

template <class X>
Bytes MessageWriter::write(uint64_t id, const X& body) {
  if constexpr (std::is_same_v<X, Body>) {
    return std::visit([&](const auto& x) { return write(id, x); }, body);
  } else {
    B& b = builder_->buffer;
    b.Clear();
    const auto offset = wire::write(b, body);
    using Table = std::remove_pointer_t<decltype(flatbuffers::GetTemporaryPointer(b, offset))>;
    constexpr auto type = msg::BodyTraits<std::remove_const_t<Table>>::enum_value;
    msg::FinishMessageBuffer(b, msg::CreateMessage(b, id, type, offset.Union()));
    return std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  }
}

template Bytes MessageWriter::write(uint64_t, const Hello&);
template Bytes MessageWriter::write(uint64_t, const Welcome&);
template Bytes MessageWriter::write(uint64_t, const Configure&);
template Bytes MessageWriter::write(uint64_t, const SetValue&);
template Bytes MessageWriter::write(uint64_t, const Join&);
template Bytes MessageWriter::write(uint64_t, const Push&);
template Bytes MessageWriter::write(uint64_t, const Pull&);
template Bytes MessageWriter::write(uint64_t, const Values&);
template Bytes MessageWriter::write(uint64_t, const Fetch&);
template Bytes MessageWriter::write(uint64_t, const Rollback&);
template Bytes MessageWriter::write(uint64_t, const Complete&);
template Bytes MessageWriter::write(uint64_t, const Progress&);
template Bytes MessageWriter::write(uint64_t, const BeatAck&);
template Bytes MessageWriter::write(uint64_t, const Ack&);
template Bytes MessageWriter::write(uint64_t, const Failure&);
template Bytes MessageWriter::write(uint64_t, const StatusAsk&);
template Bytes MessageWriter::write(uint64_t, const Status&);
template Bytes MessageWriter::write(uint64_t, const PullRows&);
template Bytes MessageWriter::write(uint64_t, const SetRows&);
template Bytes MessageWriter::write(uint64_t, const FetchRows&);
template Bytes MessageWriter::write(uint64_t, const Command&);
template Bytes MessageWriter::write(uint64_t, const Tally&);
template Bytes MessageWriter::write(uint64_t, const Body&);

}  // namespace paddle::wire
