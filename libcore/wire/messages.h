// Every message between trainers, pservers and observers as a plain struct. schemas/wire.fbs says
// how each one is laid out in bytes; read_message() and MessageWriter are the only places that
// translate. What was read has a sound structure and known enum values; whether it makes sense is
// for the receiver to decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace paddle::wire {

using Bytes = std::span<const std::byte>;

enum class Mode : uint8_t { sync, async, half_async, geo };
enum class Role : uint8_t { trainer, beat, observer, admin };
// Whether such a connection belongs to a trainer of the job.
inline bool takes_part(Role role) { return role == Role::trainer || role == Role::beat; }
enum class Order : uint8_t { snapshot, stop };
enum class CountKind : uint8_t { ratio, histogram, window };
enum class ShardState : uint8_t { empty, configuring, ready, stopping };
enum class Phase : uint8_t { finished, bye };
enum class FailureCode : uint8_t {
  protocol,         // the request makes no sense: a bug in the program that sent it
  refused,          // the peers do not fit each other: fix the configuration and start again
  stale_epoch,      // the job went back to an earlier step: greet again
  expired,          // this renewal of the process lost its lease: greet again with the next one
  job_failed,       // the job ended, for the reason given
  stopping,         // the pserver is shutting down
  not_finite,       // a gradient holds NaN or Inf and was not applied
  unknown_version,  // a version that is gone, or a slice or variable that is not here
  wait,             // not now: greet again; the message says what has to happen first
  id_taken,         // another process that is alive has the trainer's id
  job_over          // the job has ended well, and this trainer had finished its part
};
const char* name_of(Mode mode);
const char* name_of(ShardState state);

// Where a trainer is in its data, before or after a step.
struct Position {
  uint64_t pass = 0, record = 0, batch = 0, samples = 0;
  bool operator==(const Position&) const = default;
};

// The last push of a trainer, as a shard remembers it.
struct LastPush {
  uint64_t step = 0;
  Position begin, end;
  bool operator==(const LastPush&) const = default;
};

struct Hello {  // first on every connection; answered by Welcome or Failure
  uint32_t protocol = 0;
  std::string build;  // version of the program, for the text of a refusal
  Role role = Role::trainer;
  std::string job;
  Mode mode = Mode::sync;
  uint32_t trainer = 0, trainers = 1;
  uint64_t incarnation = 0;        // of the process: a new one each time it starts
  uint32_t shard = 0, shards = 1;  // which of the trainer's endpoints this is, and of how many
  std::string program;             // digest of the whole training program
  std::string process;             // "host:pid"
  bool takes_id = false;           // the shard assigns the first free trainer id
  std::string outline;    // the program as text, cut at max_outline: no longer one is taken
  uint32_t renewal = 0;   // how often it had to join again because its lease had ended
  bool new_job = false;   // begin a new job, where the last of this name has just ended
  bool finished = false;  // this process has used all its data, and waits for the end
};
inline constexpr size_t max_outline = 24u << 10;

// The shard lost its state and got values from a trainer.
inline constexpr uint64_t unknown_steps = ~uint64_t{0};

struct SliceState {
  uint32_t slice = 0;  // id in the cut
  uint64_t version = 0;
  bool contributed = false;  // sync: this trainer's gradient for the round of `version` is there
  uint64_t last_step = 0;    // async: steps of this trainer applied so far, or unknown_steps
};

// An earlier process of a shard that its values were taken from, and the version that they had.
struct Origin {
  uint64_t instance = 0, version = 0;
  bool operator==(const Origin&) const = default;
};
inline constexpr size_t max_origins = 64;  // older ones are forgotten

struct Welcome {
  uint64_t instance = 0;  // a new one each time the pserver starts
  uint64_t epoch = 0;     // rises with every rollback
  ShardState state = ShardState::empty;
  uint32_t trainer = 0;       // the id, where the shard assigned it
  std::string values_digest;  // of the first values, once configured
  std::string configured_by;
  std::vector<SliceState> slices;
  std::vector<uint64_t> snapshots;  // steps that the shard can go back to, rising
  std::optional<LastPush> last_push;
  bool lost = false;    // the trainer was dropped: it joins at the newest version
  uint64_t base = 0;    // version of the values that a trainer or a snapshot gave the shard last
  bool saved = false;   // as in BeatAck
  uint64_t oldest = 0;  // sync: the oldest version that every slice can still give
  bool forgot = false;  // not sync: the values may hold steps of this trainer that it does not know
  bool result = false;  // as in BeatAck
  std::vector<Origin> origins;  // of the values at `base`, oldest first
};

struct ConfiguredSlice {
  uint32_t id = 0;
  std::string name, grad;  // the parameter and its merged gradient in the shard's program
  int32_t block = 0;       // that updates it
};

struct ConfiguredVariable {  // a variable that the shard keeps: a slice or optimizer state
  std::string name;
  uint8_t dtype = 0;  // VarType.Type of framework.proto
  std::vector<int64_t> dims;
};

struct ConfiguredTable {  // a part of a sparse table that the shard keeps
  uint32_t id = 0;        // behind those of all slices
  uint32_t part = 0, parts = 1;
  std::string spec;          // bytes, schemas/table.fbs
  bool rows_follow = false;  // in SetRows; else rows begin as the description says
};

struct Configure {  // compare-and-set: the first wins. Values follow in SetValue messages
  uint64_t epoch = 0, step = 0;
  bool reset = false;  // replaces what is there
  // A shard lost its state: these are the values of a trainer in the middle of its work, and how
  // many steps of each trainer are in them is not known.
  bool continues = false;
  std::string values_digest;
  std::string program;  // bytes, schemas/program.fbs
  std::vector<ConfiguredSlice> slices;
  std::vector<ConfiguredVariable> variables;
  std::vector<ConfiguredTable> tables;
  std::vector<Origin> origins;  // with `continues`: where the trainer has the values from
};

struct SetValue {  // bulk: bytes of variable `index` from `offset` on
  uint64_t epoch = 0;
  uint32_t index = 0;
  uint64_t offset = 0;
  bool last = false;  // of this configuration; answered by Ack
};

struct Join {  // answered by Ack; rounds from `step` on wait for this trainer
  uint64_t epoch = 0, step = 0;
};

struct PushPart {
  uint64_t based_on = 0;  // async: version that the gradient was computed with
  uint32_t slice = 0;     // or part of a table
  uint32_t rows = 0;      // of a table
};

// Gradients of one or more slices, or of one part of a table. Bulk: the gradients in the order of
// `parts`, one behind the other; of a table, ids and then rows. Answered by one Values (where
// `pull` is set; for a table without rows) or Ack, once all have step + 1.
struct Push {
  uint64_t step = 0, epoch = 0;
  Position begin, end;
  bool pull = false;
  std::span<const PushPart> parts;  // read: in the frame, valid while the message is handled
};

struct PullPart {
  uint64_t version = 0;  // at least; sync: exactly
  uint32_t slice = 0;
  uint32_t reserved = 0;
};

struct Pull {  // answered by Values once all slices have their version
  uint64_t epoch = 0;
  std::span<const PullPart> parts;
};

struct ValuesPart {
  uint64_t version = 0;
  uint32_t slice = 0;
  uint32_t dropped = 0;  // async: 1 where the gradient was too old and was not applied
};

struct Values {  // bulk: the slices in the order of `parts`
  std::span<const ValuesPart> parts;
};

// Instead of a version: whatever there is.
inline constexpr uint64_t any_version = ~uint64_t{0};

// Rows of one part of a table, answered by Values once it has the version. Bulk: ids.
struct PullRows {
  uint64_t epoch = 0, version = 0;  // as in PullPart, or any_version
  uint32_t slice = 0, rows = 0;
};

struct SetRows {  // as SetValue, for a part of a table. Bulk: table/part.h. Answered by Ack
  uint64_t epoch = 0;
  uint32_t slice = 0;
  bool last = false;
};

struct FetchRows {  // the next rows of a part of a table; answered by Ack, bulk as of SetRows
  uint64_t epoch = 0, from = 0;    // 0 at first, then Ack::next
  uint32_t slice = 0, number = 0;  // of the answer, from 0 on
};

struct Fetch {  // bytes of a variable; answered by Ack with bulk
  std::string variable;
  uint64_t offset = 0, bytes = 0;
};

struct Rollback {  // to the snapshot of `step`; answered by Ack. Compare-and-set by epoch
  uint64_t epoch = 0, step = 0;
};

struct Complete {
  Phase phase = Phase::finished;
  uint64_t epoch = 0;   // finished: of the work that was done
  bool result = false;  // bye of trainer 0: all trainers had finished, and it has saved
};

// What a trainer reports about itself once a second; answered by BeatAck.
struct Progress {
  uint64_t step = 0, pass = 0, passes = 0, batch = 0, batches = 0, samples = 0;
  double rate = 0;  // samples per second
  double cost = 0;
  std::string state;  // "training", "testing", "saving", "waiting for …"
  std::string error;  // why the trainer is about to fail
  uint64_t echo = 0;  // number of the last BeatAck on this connection
  // The cache of rows of tables (trainer/row_cache.h): rows that were found there and those that
  // were not, since the process began; the rows in it and the memory that it may use, 0 for none.
  uint64_t cache_hits = 0, cache_misses = 0, cache_rows = 0, cache_bytes = 0;
};

struct BeatAck {
  uint64_t epoch = 0;
  std::string waiting;    // whom the shard waits for, "" for nobody
  uint32_t finished = 0;  // trainers that have finished
  std::string failure;    // why the job ended, "" while it goes on
  bool saved = false;     // trainer 0 has saved and left, or nobody waits for it: others may leave
  uint64_t instance = 0;  // as in Welcome
  uint64_t number = 0;    // a trainer that echoes it has lived after it was sent
  bool result = false;    // all had finished, and trainer 0 has saved: no more steps
  uint32_t left = 0;      // trainers that have left, or do not return
};

struct Ack {
  uint64_t version = 0;  // of Fetch: the lowest version of the shard's slices
  uint64_t next = 0;     // of FetchRows: where the next part begins; 0 after the last
};

struct Failure {
  FailureCode code = FailureCode::protocol;
  std::string message;
};

struct StatusAsk {};

// Of an admin only; answered by Ack, for a snapshot when it is on the disk.
struct Command {
  Order order = Order::snapshot;
  uint64_t step = 0;  // sync: of the snapshot; no slice has a newer version
};

struct MemberStatus {
  uint32_t trainer = 0;
  std::string state, process;
  double seconds = 0;  // in that state
  uint64_t step = 0;
  Progress progress;
  uint64_t staleness_max = 0;
  double staleness_mean = 0;
  uint64_t dropped = 0, not_finite = 0;
  // Of its data connections since it joined, whole frames; in: from the trainer to the shard.
  uint64_t bytes_in = 0, bytes_out = 0, messages_in = 0, messages_out = 0;
  uint64_t applied = 0;             // gradients of slices and tables that were used
  uint64_t joins = 0, lacking = 0;  // sync: open rounds that lack its gradient
  std::vector<uint64_t> staleness;  // gradients that lagged 0 versions, 1, 2 to 3, 4 to 7, …
};

struct SliceStatus {
  std::string name;
  uint64_t bytes = 0, version = 0;
  std::string waiting;  // trainers that the round lacks
};

struct TableStatus {  // of the shard's part of a table
  std::string name;
  uint32_t part = 0, parts = 1;
  uint64_t version = 0, rows = 0, bytes = 0;
  uint64_t created = 0, not_admitted = 0, expired = 0, evicted = 0;  // since the shard has it
  std::string waiting;              // trainers that the round lacks
  uint64_t pulled = 0, missed = 0;  // rows that were asked for, and those that it did not have
};

// Predictions of one bin of the probability: of records with a click, and of others.
struct BinCount {
  uint64_t bin = 0, positive = 0, negative = 0;
  bool operator==(const BinCount&) const = default;
};

struct Count {  // behind an evaluator
  std::string name;
  CountKind kind = CountKind::ratio;  // window: bins of the last batches, not of the pass
  double over = 0, under = 0;         // a mean is a sum over samples by their number
  std::vector<BinCount> bins;         // rising; none is empty
};
inline constexpr size_t max_bins = size_t{1} << 17;  // in a Tally

// What a trainer has counted of a pass so far, for the first shard; not answered. What is lost is
// made good by the next one.
struct Tally {
  uint64_t pass = 0, batch = 0;
  uint64_t first_batch = 0;  // batches before it were not counted
  bool pass_ended = false;
  uint64_t samples = 0;
  double cost = 0;  // sum over samples
  std::vector<Count> counts;
};

struct Number {
  std::string name;
  double value = 0;
};

struct Sums {  // over all trainers
  uint64_t samples = 0;
  double cost = 0;
  std::vector<Number> evaluators;  // those whose counts all trainers have sent
};

struct Totals {
  uint64_t pass = 0, batch = 0;
  bool pass_ended = false;
  uint32_t trainers = 0;     // whose counts are in it; 0: there are no totals yet
  uint64_t first_batch = 0;  // of the period, which ends at `batch`
  Sums whole;                // of the pass so far
  std::optional<Sums> period;
};

// All that a shard has to say about itself.
struct Status {
  uint64_t instance = 0;
  std::string build, job;
  Mode mode = Mode::sync;
  ShardState state = ShardState::empty;
  bool sparse = false;
  uint64_t epoch = 0;
  double uptime = 0;
  uint64_t step = 0;  // lowest version
  double steps_per_second = 0;
  uint64_t bytes_in = 0, bytes_out = 0, messages_in = 0, messages_out = 0;
  double cpu_seconds = 0;
  std::vector<MemberStatus> members;
  std::vector<SliceStatus> slices;
  std::vector<uint64_t> snapshots;
  std::vector<std::string> last_errors;
  std::string waiting;
  uint64_t memory = 0;                         // bytes that the shard holds for its job
  uint64_t memory_held = 0, memory_limit = 0;  // of the pserver: all shards, and messages
  std::vector<TableStatus> tables;
  double snapshot_age = -1;  // seconds since this process wrote its last snapshot; -1: none
  double clock = 0;          // seconds since 1970 by the clock of its machine; 0: not given
  uint64_t snapshots_written = 0, snapshots_failed = 0;  // by this process
  double snapshot_seconds = 0, snapshot_last = 0;        // that all took, and the last one
  uint64_t waiting_requests = 0;  // pulls and pushes whose answer waits for a version
  uint64_t queued_bytes = 0;      // of answers that were not handed to the kernel yet
  Totals totals;                  // the newest
};

using Body = std::variant<Hello, Welcome, Configure, SetValue, Join, Push, Pull, Values, Fetch,
                          Rollback, Complete, Progress, BeatAck, Ack, Failure, StatusAsk, Status,
                          PullRows, SetRows, FetchRows, Command, Tally>;

struct Message {
  uint64_t id = 0;  // pairs an answer with its request
  Body body;
};

// "Push", for sentences.
const char* name_of(const Body& body);

// A greeting of this process: protocol, build, role and process are filled in.
Hello make_hello(Role role);

// The message in a head, which must be aligned to 8 bytes. The spans of Push, Pull and Values point
// into it; everything else is copied. Throws Error(protocol) where the structure is damaged, an
// enum has an unknown value, or strings and lists overlap.
Message read_message(Bytes head);

// Turns messages into heads; its buffer is used again and again.
class MessageWriter {
 public:
  MessageWriter();
  ~MessageWriter();
  // The head without padding; valid until the next call. `X` is Body or one of its alternatives.
  template <class X>
  Bytes write(uint64_t id, const X& body);

 private:
  struct Builder;
  std::unique_ptr<Builder> builder_;
};

}  // namespace paddle::wire
