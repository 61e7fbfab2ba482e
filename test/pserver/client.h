// A trainer for tests of a shard: sends what the test asks for, one message after the other, and
// keeps the answers.
#pragma once

#include <wire_generated.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/program_buffer.h"
#include "pserver/service.h"
#include "pserver/small_job.h"
#include "support/connect.h"
#include "wire/connection.h"

namespace paddle {

class RunningShard {
 public:
  explicit RunningShard(ShardOptions options = {})
      : shard_(local(std::move(options))), thread_([this] { shard_.run(); }) {}
  ~RunningShard() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    shard_.stop();
    thread_.join();
  }
  uint16_t port() const { return shard_.port(); }
  const Service& service() const { return shard_; }

 private:
  static ShardOptions local(ShardOptions o) {
    o.listen.host = "127.0.0.1";
    return o;
  }
  Service shard_;
  std::thread thread_;
};

// What an answer is; NONE where there was none.
using AnswerType = msg::Body;

struct Answer {
  AnswerType type = AnswerType::NONE;
  wire::FailureCode code{};
  std::string text;  // of a Failure, or `waiting` of a BeatAck or Status
  uint64_t version = 0, epoch = 0;
  bool dropped = false;
  uint32_t finished = 0;  // BeatAck
  bool saved = false;
  // Welcome
  wire::ShardState state{};
  uint32_t trainer = 0;
  std::string configured_by;
  std::vector<uint64_t> versions, snapshots, last_steps;
  std::vector<bool> contributed;
  bool has_place = false, lost = false;
  uint64_t place_step = 0, record = 0;
  // Status
  std::vector<std::string> errors, members;
  std::vector<uint64_t> dropped_by, not_finite_by, staleness_by;

  std::vector<std::byte> bulk;
  std::vector<float> values() const {
    std::vector<float> out(bulk.size() / sizeof(float));
    std::memcpy(out.data(), bulk.data(), out.size() * sizeof(float));
    return out;
  }
  bool failed(wire::FailureCode c) const { return type == AnswerType::Failure && code == c; }
};

struct HelloOptions {
  uint32_t trainer = 0, trainers = 2;
  uint64_t incarnation = 0;  // 0: 1000 + trainer
  std::string job = "job", program = "abc", build = "test";
  wire::Mode mode = wire::Mode::sync;
  wire::Role role = wire::Role::trainer;
  uint32_t protocol = wire::protocol_version, shard = 0, shards = 1;
  bool takes_id = false;
};

class Client : public wire::Handler {
 public:
  explicit Client(uint16_t port) {
    connection_ = wire::Connection::start(connect_to(io_, {"127.0.0.1", port}), *this, false);
  }
  ~Client() override {
    if (connection_->open()) connection_->close("the test is over");
  }

  // ---- answers
  wire::Landing land(wire::Connection&, const wire::Message&, uint64_t bulk) override {
    bulk_.resize(bulk);
    return wire::Landing::into(bulk_);
  }
  void handle(wire::Connection&, wire::Message& message, uint64_t bulk) override {
    Answer& a = answers_[message.id];
    a = read(message.body);
    a.bulk.assign(bulk_.begin(), bulk_.begin() + static_cast<std::ptrdiff_t>(bulk));
  }
  void closed(wire::Connection&, const std::string& why) override { closed_ = why; }

  template <class Done>
  bool until(const Done& done, double seconds = 20) {
    const auto end = wire::Clock::now() + std::chrono::duration_cast<wire::Clock::duration>(
                                              std::chrono::duration<double>(seconds));
    while (!done() && wire::Clock::now() < end) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(50));
    }
    return done();
  }
  bool ended(double seconds = 20) {
    return until([this] { return closed_.has_value(); }, seconds);
  }
  bool answered(uint64_t id) const { return answers_.count(id) > 0; }
  // What came last under this number, 0 for what nobody asked for.
  const Answer& last(uint64_t id) { return answers_[id]; }
  // The answer to `id`; one of type NONE where the connection ends without it.
  Answer await(uint64_t id) {
    until([&] { return answered(id) || closed_; });
    return answered(id) ? answers_[id] : Answer{};
  }
  const std::optional<std::string>& closed_by() const { return closed_; }

  // ---- messages: each returns its id
  template <class X>
  uint64_t say(const X& body, wire::Bytes bulk = {}) {
    const uint64_t id = ++last_id_;
    connection_->send(id, body, bulk, wire::Bulk::changes);
    connection_->flush();
    return id;
  }
  uint64_t hello(const HelloOptions& o) {
    const uint64_t incarnation = o.incarnation == 0 ? 1000 + o.trainer : o.incarnation;
    return say(wire::Hello{.protocol = o.protocol,
                           .build = o.build,
                           .role = o.role,
                           .job = o.job,
                           .mode = o.mode,
                           .trainer = o.trainer,
                           .trainers = o.trainers,
                           .incarnation = incarnation,
                           .shard = o.shard,
                           .shards = o.shards,
                           .program = o.program,
                           .process = "host:" + std::to_string(incarnation),
                           .takes_id = o.takes_id,
                           .outline = ""});
  }
  Answer greet(const HelloOptions& o) { return await(hello(o)); }

  uint64_t configure(const SmallJob& job, uint64_t epoch = 0, uint64_t step = 0,
                     bool reset = false) {
    wire::Configure c{.epoch = epoch,
                      .step = step,
                      .reset = reset,
                      .values_digest = "init",
                      .program = to_flatbuffer(job.config.program),
                      .slices = {},
                      .variables = {}};
    for (const SliceInfo& s : job.config.slices)
      c.slices.push_back({s.id, s.name, s.grad, s.block});
    for (const KeptVariable& v : job.config.variables)
      c.variables.push_back(
          {v.name, static_cast<uint8_t>(v.dtype), {v.shape.begin(), v.shape.end()}});
    return say(c);
  }
  uint64_t set_value(const SmallJob& job, uint32_t index, bool last, uint64_t epoch = 0) {
    const Tensor& t = job.values[index];
    return say(wire::SetValue{epoch, index, 0, last},
               {static_cast<const std::byte*>(t.raw()), t.bytes()});
  }
  // Configure and all values.
  Answer provide(const SmallJob& job, uint64_t epoch = 0, uint64_t step = 0, bool reset = false) {
    const uint64_t first = configure(job, epoch, step, reset);
    uint64_t id = 0;
    const auto n = static_cast<uint32_t>(job.values.size());
    for (uint32_t i = 0; i < n; ++i) id = set_value(job, i, i + 1 == n, epoch);
    until([&] { return answered(first) || answered(id) || closed_; });
    return answered(first) ? await(first) : await(id);
  }
  Answer join(uint64_t step = 0, uint64_t epoch = 0) { return await(say(wire::Join{epoch, step})); }
  struct PushOptions {
    uint64_t epoch = 0, based_on = 0;
    bool pull = true;
  };
  uint64_t push(uint32_t slice, uint64_t step, std::span<const float> grad, PushOptions o) {
    const wire::PushPart part{o.based_on, slice, 0};
    return say(wire::Push{.step = step,
                          .epoch = o.epoch,
                          .begin = {0, step * 10, step, 0},
                          .end = {0, step * 10 + 10, step + 1, 0},
                          .pull = o.pull,
                          .parts = {&part, 1}},
               std::as_bytes(grad));
  }
  uint64_t push(uint32_t slice, uint64_t step, std::span<const float> grad) {
    return push(slice, step, grad, {});
  }
  uint64_t pull(uint32_t slice, uint64_t version, uint64_t epoch = 0) {
    const wire::PullPart part{version, slice, 0};
    return say(wire::Pull{epoch, {&part, 1}});
  }
  uint64_t fetch(const std::string& name, uint64_t offset, uint64_t bytes) {
    return say(wire::Fetch{name, offset, bytes});
  }
  uint64_t rollback(uint64_t epoch, uint64_t step) { return say(wire::Rollback{epoch, step}); }
  Answer complete(wire::Phase phase) { return await(say(wire::Complete{phase})); }
  Answer beat(const std::string& error = "") {
    return await(say(wire::Progress{.step = 1,
                                    .pass = 0,
                                    .passes = 1,
                                    .batch = 1,
                                    .batches = 0,
                                    .samples = 64,
                                    .rate = 100,
                                    .cost = 0.5,
                                    .state = "training",
                                    .error = error}));
  }
  Answer status() { return await(say(wire::StatusAsk{})); }

  wire::Connection& connection() { return *connection_; }

 private:
  static Answer read(const wire::Body& body) {
    Answer a;
    a.type = static_cast<AnswerType>(body.index() + 1);
    if (const auto* f = std::get_if<wire::Failure>(&body)) {
      a.code = f->code;
      a.text = f->message;
    }
    if (const auto* v = std::get_if<wire::Values>(&body)) {
      a.version = v->parts[0].version;
      a.dropped = v->parts[0].dropped != 0;
    }
    if (const auto* b = std::get_if<wire::BeatAck>(&body)) {
      a.text = b->waiting;
      a.epoch = b->epoch;
      a.finished = b->finished;
      a.saved = b->saved;
    }
    if (const auto* w = std::get_if<wire::Welcome>(&body)) read_welcome(*w, a);
    if (const auto* s = std::get_if<wire::Status>(&body)) read_status(*s, a);
    return a;
  }
  static void read_welcome(const wire::Welcome& w, Answer& a) {
    a.state = w.state;
    a.epoch = w.epoch;
    a.trainer = w.trainer;
    a.configured_by = w.configured_by;
    a.has_place = w.last_push.has_value();
    a.lost = w.lost;
    if (w.last_push) {
      a.place_step = w.last_push->step;
      a.record = w.last_push->end.record;
    }
    a.snapshots = w.snapshots;
    for (const wire::SliceState& s : w.slices) {
      a.versions.push_back(s.version);
      a.contributed.push_back(s.contributed);
      a.last_steps.push_back(s.last_step);
    }
  }
  static void read_status(const wire::Status& s, Answer& a) {
    a.text = s.waiting;
    a.state = s.state;
    a.version = s.step;
    a.snapshots = s.snapshots;
    a.errors = s.last_errors;
    for (const wire::MemberStatus& m : s.members) {
      a.members.push_back(m.state);
      a.dropped_by.push_back(m.dropped);
      a.not_finite_by.push_back(m.not_finite);
      a.staleness_by.push_back(m.staleness_max);
    }
    for (const wire::SliceStatus& slice : s.slices) a.versions.push_back(slice.version);
  }

  asio::io_context io_{1};
  std::shared_ptr<wire::Connection> connection_;
  std::vector<std::byte> bulk_;
  std::map<uint64_t, Answer> answers_;
  std::optional<std::string> closed_;
  uint64_t last_id_ = 0;
};

}  // namespace paddle
