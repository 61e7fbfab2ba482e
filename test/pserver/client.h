// A trainer for tests of a shard: says what it is told to say, one message after the other, and
// keeps the answers.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/program_buffer.h"
#include "pserver/shard.h"
#include "pserver/small_job.h"
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
  const Shard& shard() const { return shard_; }

 private:
  static ShardOptions local(ShardOptions o) {
    o.host = "127.0.0.1";
    return o;
  }
  Shard shard_;
  std::thread thread_;
};

struct Answer {
  msg::Body type = msg::Body::NONE;
  msg::FailureCode code{};
  std::string text;  // of a Failure, or `waiting` of a BeatAck or Status
  uint64_t version = 0, epoch = 0;
  bool dropped = false;
  uint32_t finished = 0;  // BeatAck
  bool saved = false;
  // Welcome
  msg::ShardState state{};
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
  bool failed(msg::FailureCode c) const { return type == msg::Body::Failure && code == c; }
};

struct HelloOptions {
  uint32_t trainer = 0, trainers = 2;
  uint64_t incarnation = 0;  // 0: 1000 + trainer
  std::string job = "job", program = "abc", build = "test";
  msg::Mode mode = msg::Mode::sync;
  msg::Role role = msg::Role::trainer;
  uint32_t protocol = wire::protocol_version, shard = 0, shards = 1;
  bool takes_id = false;
};

class Client : public wire::Handler {
 public:
  explicit Client(uint16_t port) {
    tcp::socket socket(io_);
    socket.connect({asio::ip::make_address("127.0.0.1"), port});
    wire::tune(socket);
    connection_ = wire::Connection::start(std::move(socket), *this, false);
  }
  ~Client() override {
    if (connection_->open()) connection_->close("the test is over");
  }

  // ---- answers
  std::span<std::byte> land(wire::Connection&, const msg::Message&, uint64_t bulk) override {
    bulk_.resize(bulk);
    return bulk_;
  }
  void handle(wire::Connection&, const msg::Message& head, uint64_t bulk) override {
    Answer& a = answers_[head.id()];
    a = read(head);
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
  template <class Make>
  uint64_t say(const Make& make, wire::Bytes bulk = {}) {
    const uint64_t id = ++last_id_;
    connection_->send(id, make(connection_->builder()), bulk, wire::Bulk::changes);
    connection_->flush();
    return id;
  }
  uint64_t hello(const HelloOptions& o) {
    return say([&](flatbuffers::FlatBufferBuilder& b) {
      const auto build = b.CreateString(o.build), job = b.CreateString(o.job);
      const auto program = b.CreateString(o.program);
      const uint64_t incarnation = o.incarnation == 0 ? 1000 + o.trainer : o.incarnation;
      const auto process = b.CreateString("host:" + std::to_string(incarnation));
      return msg::CreateHello(b, o.protocol, build, o.role, job, o.mode, o.trainer, o.trainers,
                              incarnation, o.shard, o.shards, program, process, o.takes_id);
    });
  }
  Answer greet(const HelloOptions& o) { return await(hello(o)); }

  uint64_t configure(const SmallJob& job, uint64_t epoch = 0, uint64_t step = 0,
                     bool reset = false) {
    return say([&](flatbuffers::FlatBufferBuilder& b) {
      std::vector<flatbuffers::Offset<msg::Slice>> slices;
      for (const SliceInfo& s : job.config.slices)
        slices.push_back(
            msg::CreateSlice(b, s.id, b.CreateString(s.name), b.CreateString(s.grad), s.block));
      std::vector<flatbuffers::Offset<msg::Variable>> variables;
      for (const KeptVariable& v : job.config.variables) {
        const auto name = b.CreateString(v.name);
        const auto dims = b.CreateVector(v.shape.begin(), static_cast<size_t>(v.shape.rank()));
        variables.push_back(msg::CreateVariable(b, name, static_cast<uint8_t>(v.dtype), dims));
      }
      const std::string program = to_flatbuffer(job.config.program);
      const auto init = b.CreateString("init");
      const auto bytes =
          b.CreateVector(reinterpret_cast<const uint8_t*>(program.data()), program.size());
      return msg::CreateConfigure(b, epoch, step, reset, init, bytes, b.CreateVector(slices),
                                  b.CreateVector(variables));
    });
  }
  uint64_t set_value(const SmallJob& job, uint32_t index, bool last, uint64_t epoch = 0) {
    const Tensor& t = job.values[index];
    return say(
        [&](flatbuffers::FlatBufferBuilder& b) {
          return msg::CreateSetValue(b, epoch, index, 0, last);
        },
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
  Answer join(uint64_t step = 0, uint64_t epoch = 0) {
    return await(
        say([&](flatbuffers::FlatBufferBuilder& b) { return msg::CreateJoin(b, epoch, step); }));
  }
  struct PushOptions {
    uint64_t epoch = 0, based_on = 0;
    bool pull = true;
  };
  uint64_t push(uint32_t slice, uint64_t step, std::span<const float> grad, PushOptions o) {
    return say(
        [&](flatbuffers::FlatBufferBuilder& b) {
          const msg::Place begin(0, step * 10, step, 0), end(0, step * 10 + 10, step + 1, 0);
          return msg::CreatePush(b, slice, step, o.epoch, &begin, &end, o.pull, o.based_on, 1);
        },
        std::as_bytes(grad));
  }
  uint64_t push(uint32_t slice, uint64_t step, std::span<const float> grad) {
    return push(slice, step, grad, {});
  }
  uint64_t pull(uint32_t slice, uint64_t version, uint64_t epoch = 0) {
    return say([&](flatbuffers::FlatBufferBuilder& b) {
      return msg::CreatePull(b, slice, version, epoch);
    });
  }
  uint64_t fetch(const std::string& name, uint64_t offset, uint64_t bytes) {
    return say([&](flatbuffers::FlatBufferBuilder& b) {
      return msg::CreateFetch(b, b.CreateString(name), offset, bytes);
    });
  }
  uint64_t rollback(uint64_t epoch, uint64_t step) {
    return say(
        [&](flatbuffers::FlatBufferBuilder& b) { return msg::CreateRollback(b, epoch, step); });
  }
  Answer complete(msg::Phase phase) {
    return await(
        say([&](flatbuffers::FlatBufferBuilder& b) { return msg::CreateComplete(b, phase); }));
  }
  Answer beat(const std::string& error = "") {
    return await(say([&](flatbuffers::FlatBufferBuilder& b) {
      return msg::CreateBeat(b, 0, 0, 1, 0, 1, 1, 0, 64, 100.0, 0.5, b.CreateString("training"),
                             b.CreateString(error));
    }));
  }
  Answer status() {
    return await(say([](flatbuffers::FlatBufferBuilder& b) { return msg::CreateStatusAsk(b); }));
  }

  wire::Connection& connection() { return *connection_; }

 private:
  template <class Vector>
  static void copy(const Vector* from, std::vector<uint64_t>& to) {
    if (from != nullptr) to.assign(from->begin(), from->end());
  }
  static Answer read(const msg::Message& head) {
    Answer a;
    a.type = head.body_type();
    if (const auto* f = head.body_as_Failure()) {
      a.code = f->code();
      a.text = f->message()->str();
    }
    if (const auto* v = head.body_as_Values()) {
      a.version = v->version();
      a.dropped = v->dropped();
    }
    if (const auto* b = head.body_as_BeatAck()) {
      a.text = b->waiting()->str();
      a.epoch = b->epoch();
      a.finished = b->finished();
      a.saved = b->saved();
    }
    if (const auto* w = head.body_as_Welcome()) read_welcome(*w, a);
    if (const auto* s = head.body_as_Status()) read_status(*s, a);
    return a;
  }
  static void read_welcome(const msg::Welcome& w, Answer& a) {
    a.state = w.state();
    a.epoch = w.epoch();
    a.trainer = w.trainer();
    a.configured_by = w.configured_by()->str();
    a.has_place = w.has_place();
    a.lost = w.lost();
    a.place_step = w.place_step();
    if (w.end() != nullptr) a.record = w.end()->record();
    copy(w.snapshots(), a.snapshots);
    for (const msg::SliceState* s : *w.slices()) {
      a.versions.push_back(s->version());
      a.contributed.push_back(s->contributed());
      a.last_steps.push_back(s->last_step());
    }
  }
  static void read_status(const msg::Status& s, Answer& a) {
    a.text = s.waiting()->str();
    a.state = s.state();
    a.version = s.step();
    copy(s.snapshots(), a.snapshots);
    for (const auto* e : *s.last_errors()) a.errors.push_back(e->str());
    for (const msg::Member* m : *s.members()) {
      a.members.push_back(m->state()->str());
      a.dropped_by.push_back(m->dropped());
      a.not_finite_by.push_back(m->not_finite());
      a.staleness_by.push_back(m->staleness_max());
    }
    for (const msg::SliceStatus* slice : *s.slices()) a.versions.push_back(slice->version());
  }

  asio::io_context io_{1};
  std::shared_ptr<wire::Connection> connection_;
  std::vector<std::byte> bulk_;
  std::map<uint64_t, Answer> answers_;
  std::optional<std::string> closed_;
  uint64_t last_id_ = 0;
};

}  // namespace paddle
