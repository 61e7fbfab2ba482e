#include "paddle/shard_status.h"

#include <unistd.h>

#include <list>
#include <memory>

#include "base/build_info.h"
#include "base/error.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace paddle {
namespace {

std::string text_of(const flatbuffers::String* s) { return s == nullptr ? "" : s->str(); }

// Values that a newer program added have no name here.
std::string name_or(const char* name) { return name[0] == '\0' ? "unknown" : name; }

TrainerStatus trainer_of(const msg::Member& m) {
  TrainerStatus t;
  t.id = m.trainer();
  t.state = text_of(m.state());
  t.process = text_of(m.process());
  t.seconds = m.seconds();
  t.step = m.step();
  t.staleness_max = m.staleness_max();
  t.staleness_mean = m.staleness_mean();
  t.dropped = m.dropped();
  t.not_finite = m.not_finite();
  const msg::Beat* beat = m.progress();
  if (beat == nullptr) return t;
  t.pass = beat->pass();
  t.passes = beat->passes();
  t.batch = beat->batch();
  t.batches = beat->batches();
  t.samples = beat->samples();
  t.rate = beat->rate();
  t.cost = beat->cost();
  t.doing = text_of(beat->state());
  t.error = text_of(beat->error());
  return t;
}

constexpr const char* too_late = "no answer in time";

// The conversation with one shard: Hello, Welcome, StatusAsk, Status.
class Question : public wire::Handler {
 public:
  Question(ShardStatus& out, uint32_t index, uint32_t count)
      : out_(out), index_(index), count_(count) {
    out_.problem = too_late;
  }

  asio::awaitable<void> ask(double seconds) {
    try {
      const wire::Endpoint to = wire::parse_endpoint(out_.endpoint, "pserver");
      tcp::socket socket = co_await wire::connect(to, seconds);
      connection_ = wire::Connection::start(std::move(socket), *this, false);
      greet();
    } catch (const Error& e) {
      out_.problem = e.what();
    }
  }

  // Lets go of the connection, while its io_context is still there.
  void end() {
    if (connection_ && connection_->open()) connection_->close(too_late);
    connection_.reset();
  }

  std::span<std::byte> land(wire::Connection&, const msg::Message&, uint64_t) override {
    return {};  // no answer here has bulk
  }

  void handle(wire::Connection& from, const msg::Message& head, uint64_t) override {
    if (const auto* failure = head.body_as_Failure()) {
      out_.problem = text_of(failure->message());
      from.close("refused");
    } else if (head.body_as_Welcome() != nullptr) {
      from.send(2, msg::CreateStatusAsk(from.builder()));
      from.flush();
    } else if (const auto* status = head.body_as_Status()) {
      read_status(*status, out_);
      out_.problem.clear();
      answered_ = true;
      from.close("answered");
    } else {
      throw Error(Error::Kind::protocol, "it answered a question about its state with message ",
                  msg::EnumNameBody(head.body_type()));
    }
  }

  void closed(wire::Connection&, const std::string& why) override {
    if (!answered_ && why != "refused") out_.problem = why;
  }

 private:
  void greet() {
    char host[256] = "localhost";
    ::gethostname(host, sizeof host - 1);
    const std::string process = text(host, ":", ::getpid());
    connection_->send(1, msg::CreateHelloDirect(connection_->builder(), wire::protocol_version,
                                                version, msg::Role::observer, "", msg::Mode::sync,
                                                0, 0, 0, index_, count_, "", process.c_str()));
    connection_->flush();
  }

  ShardStatus& out_;
  const uint32_t index_, count_;
  bool answered_ = false;
  std::shared_ptr<wire::Connection> connection_;
};

}  // namespace

void read_status(const msg::Status& message, ShardStatus& out) {
  out.instance = message.instance();
  out.epoch = message.epoch();
  out.step = message.step();
  out.bytes_in = message.bytes_in();
  out.bytes_out = message.bytes_out();
  out.build = text_of(message.build());
  out.job = text_of(message.job());
  out.mode = name_or(msg::EnumNameMode(message.mode()));
  out.state = name_or(msg::EnumNameShardState(message.state()));
  out.waiting = text_of(message.waiting());
  out.uptime = message.uptime();
  out.steps_per_second = message.steps_per_second();
  out.cpu_seconds = message.cpu_seconds();
  if (const auto* members = message.members())
    for (const msg::Member* m : *members) out.trainers.push_back(trainer_of(*m));
  if (const auto* slices = message.slices())
    for (const msg::SliceStatus* s : *slices)
      out.slices.push_back({text_of(s->name()), s->bytes(), s->version(), text_of(s->waiting())});
  if (const auto* snapshots = message.snapshots())
    out.snapshots.assign(snapshots->begin(), snapshots->end());
  if (const auto* errors = message.last_errors())
    for (const flatbuffers::String* e : *errors) out.last_errors.push_back(text_of(e));
}

std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds) {
  std::vector<ShardStatus> shards;
  for (const auto* list : {&endpoints.dense, &endpoints.sparse})
    for (const std::string& endpoint : *list) {
      shards.emplace_back();
      shards.back().endpoint = endpoint;
      shards.back().sparse = list == &endpoints.sparse;
    }
  std::list<Question> questions;
  asio::io_context io(1);  // ends before the questions that its coroutines speak of
  uint32_t index = 0;
  for (ShardStatus& shard : shards) {
    const size_t count = shard.sparse ? endpoints.sparse.size() : endpoints.dense.size();
    if (index == endpoints.dense.size() && shard.sparse) index = 0;
    Question& question = questions.emplace_back(shard, index++, static_cast<uint32_t>(count));
    asio::co_spawn(io, question.ask(seconds), asio::detached);
  }
  io.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds)));
  for (Question& question : questions) question.end();
  return shards;
}

}  // namespace paddle
