// The client with shards that answer at once and remember what they were sent.
#include "trainer/ps_client.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>

#include "exec/executor.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "support/quiet_log.h"

using namespace paddle;

namespace {

// One shard with values, which welcomes whoever comes and lets it join.
class AnsweringLinks final : public Links, public Heartbeats {
 public:
  AnsweringLinks() : Links({"shard"}, 10, *this) {}

  Time now() const override { return now_; }
  void greet(size_t, const wire::Hello&) override {
    (*this)[0].dropped();
    ++greetings;
    if (greeting_cuts > 0) {
      --greeting_cuts;
      (*this)[0].closed("cut");
    } else if (refusal) {
      answer(0, *refusal);
    } else {
      answer(0, welcome);
    }
  }
  void hang_up(size_t) override {}
  bool open(size_t) const override { return true; }
  void send(uint32_t, const wire::Push& push, std::span<const wire::Bytes>) override {
    pushes.push_back(push);
    for (const wire::PushPart& p : push.parts)
      if (answers_pushes) values_of(p.slice);
  }
  void send(uint32_t, uint64_t, const wire::PullRows&, wire::Bytes) override {}
  void send(uint32_t, const wire::Pull& pull) override {
    for (const wire::PullPart& p : pull.parts) values_of(p.slice);
  }
  void request(size_t, uint64_t id, const wire::Body& body, wire::Bytes) override {
    if (const auto* c = std::get_if<wire::Complete>(&body)) completes.push_back(*c);
    if (request_cuts == 0) return answer(id, wire::Ack{});
    --request_cuts;
    (*this)[0].closed("cut");
  }
  void flush() override {}
  void poll() override {
    for (; !answers_.empty(); answers_.pop_front()) {
      wire::Message& m = answers_.front();
      if (const auto* v = std::get_if<wire::Values>(&m.body))
        for (const auto& piece : (*this)[0].land(m, bytes_of(*v)))
          std::memset(piece.data(), 0, piece.size());
      (*this)[0].handle(m);
    }
  }
  void poll_sometimes() override { poll(); }
  void start(const wire::Hello&) override {}
  void stop() override {}
  void report(const wire::Progress&) override {}
  void send_final_error(const std::string&) override {}
  std::vector<ShardNews> news_of_each() const override {
    return {ShardNews{
        .finished = finished, .saved = saved, .result = result, .left = left, .heard = now_}};
  }

  void fail(const wire::Failure& failure) { answer(0, failure); }
  void answer_push(size_t n) {
    for (const wire::PushPart& p : pushes[n].parts) values_of(p.slice);
  }

  wire::Welcome welcome;
  std::vector<wire::Push> pushes;
  std::vector<wire::Complete> completes;
  bool answers_pushes = true;
  bool saved = false, result = false;  // as it answers heartbeats
  uint32_t finished = 0, left = 0;
  std::optional<wire::Failure> refusal;  // of greetings
  int greetings = 0;                     // so far
  std::function<void()> after_sleep = {};
  int greeting_cuts = 0, request_cuts = 0;  // so many next ones are cut off

 protected:
  void sleep_until(Time until) override {
    if (answers_.empty()) now_ = until;
    if (after_sleep) after_sleep();
    poll();
  }
  Time heard(size_t) const override { return {}; }
  bool stop_asked() const override { return false; }

 private:
  static uint64_t bytes_of(const wire::Values& v) { return v.parts.size() * sizeof(float); }
  void answer(uint64_t id, wire::Body body) { answers_.push_back({id, std::move(body)}); }
  void values_of(uint32_t slice) {
    parts_.push_back({.version = 1, .slice = slice});
    answer(0, wire::Values{{&parts_.back(), 1}});
  }

  Time now_ = Time{} + std::chrono::hours(1);
  std::deque<wire::Message> answers_;
  std::deque<wire::ValuesPart> parts_;
};

// A job of one parameter and one shard, and its trainer 1.
struct OneParameter {
  explicit OneParameter(wire::Mode mode, uint32_t trainer = 1)
      : made(std::make_unique<AnsweringLinks>()) {
    const Builder b(net);
    minimize(b, mean(b, create_parameter(b, {1, 1}, {.name = "p0"})), Optimizer("sgd", 1));
    cut = transpile(net.main, net.startup,
                    {.trainers = 2, .endpoints = {"shard:1"}, .slice_var_up = false});
    Executor().run(net.startup, scope);
    options.hello = wire::make_hello(wire::Role::trainer);
    options.hello.mode = mode;
    options.hello.trainer = trainer;
    options.hello.trainers = 2;
    options.geo_steps = 2;
    links = made.get();
    links->welcome.state = wire::ShardState::ready;
    links->welcome.trainer = trainer;
  }
  PsClient& make_client() {
    return client.emplace(
        cut, scope, options, [] {}, std::move(made));
  }

  Net net;
  Cut cut;
  Scope scope;
  PsOptions options;
  std::unique_ptr<AnsweringLinks> made;
  AnsweringLinks* links = nullptr;
  std::optional<PsClient> client;
};

}  // namespace

// A process that was killed after its last batch and started again computes no step. If it did not
// say where its data ends, the next process would train with all of it again.
TEST_CASE("the last exchange of a restarted trainer keeps its place in the data", "[trainer]") {
  const QuietLog quiet;
  OneParameter p(wire::Mode::geo);
  AnsweringLinks& links = *p.links;
  const wire::Position last{.pass = 3, .record = 40, .samples = 160};
  links.welcome.last_push = wire::LastPush{9, last, last};
  links.welcome.slices = {{.slice = 0, .version = 5, .last_step = 10}};
  PsClient& client = p.make_client();
  const Rewind at = client.join(0);
  CHECK(at.step == 10);
  REQUIRE(at.place);
  CHECK(at.place->samples == 160);
  client.finish(at.step);
  REQUIRE(links.pushes.size() == 1);
  CHECK(links.pushes[0].step == 10);
  CHECK(links.pushes[0].end.samples == 160);
  CHECK(links.pushes[0].end.record == 40);
  CHECK(links.pushes[0].begin.pass == 3);
}

// A pserver was lost after all had finished, and sent them back to work. Meanwhile trainer 0, which
// had saved, could say so, and the others have left: nobody sends gradients any more.
TEST_CASE("who had finished leaves when it hears that trainer 0 has saved", "[trainer]") {
  const QuietLog quiet;
  const bool finishes = GENERATE(true, false);
  OneParameter p(wire::Mode::sync);
  p.links->welcome.slices = {{.slice = 0, .version = 0}};
  PsClient& client = p.make_client();
  const uint64_t step = client.join(0).step;
  if (finishes) client.finish(step);
  p.links->answers_pushes = false;
  p.links->saved = true;
  float gradient = 1;
  bool over = false;
  try {
    client.begin_step(step, {}, {});
    client.push(0, View{.data = &gradient}, step);
    client.end_step();
    client.begin_step(step + 1, {}, {});
    client.pull(0, View{}, step + 1);
  } catch (const Rewind& back) {
    over = back.over;
  } catch (const Error&) {  // a process that had not finished waits until its deadline
    CHECK(!finishes);
  }
  CHECK(over == finishes);
}

// Two steps: the gradient of the second one waits for the answer to the first.
TEST_CASE("async: who is asked to stop sends what it has merged, within seconds", "[trainer]") {
  const QuietLog quiet;
  const bool answers = GENERATE(true, false);
  OneParameter p(wire::Mode::async);
  AnsweringLinks& links = *p.links;
  links.answers_pushes = false;
  links.welcome.slices = {{.slice = 0, .version = 0}};
  PsClient& client = p.make_client();
  float gradient = 1;
  uint64_t step = client.join(0).step;
  for (const uint64_t end = step + 2; step < end; ++step) {
    client.begin_step(step, {}, {});
    client.push(0, View{.data = &gradient}, step);
    client.end_step();
  }
  REQUIRE(links.pushes.size() == 1);
  size_t answered = 0;
  links.after_sleep = [&] {
    while (answers && answered < links.pushes.size()) links.answer_push(answered++);
  };
  const Time begin = links.now();
  client.deliver();
  CHECK(links.pushes.size() == (answers ? 2 : 1));
  CHECK(links.pushes.back().step == (answers ? 1 : 0));
  CHECK(links.now() - begin <= std::chrono::seconds(5));
}

// The shard has heard the end of trainer 0, its answer was lost, and the job has ended there.
TEST_CASE("trainer 0 leaves at once where its job is over", "[trainer]") {
  const QuietLog quiet;
  OneParameter p(wire::Mode::sync, 0);
  AnsweringLinks& links = *p.links;
  links.welcome.slices = {{.slice = 0, .version = 0}};
  PsClient& client = p.make_client();
  client.finish(client.join(0).step);
  links.request_cuts = 1;
  links.greetings = 0;
  const Time begin = links.now();

  SECTION("that is what the shard says") {
    links.refusal = {wire::FailureCode::job_over, "the job has ended"};
    client.say_bye();
    CHECK(links.greetings == 1);
  }
  SECTION("the shard says so after greetings that were cut off") {
    links.refusal = {wire::FailureCode::job_over, "the job has ended"};
    links.greeting_cuts = 2;
    client.say_bye();
    CHECK(links.greetings == 3);
  }
  SECTION("the shard has not heard it, and does now") {
    links.greeting_cuts = 1;
    client.say_bye();
    CHECK(links.greetings == 2);
  }
  CHECK(seconds(begin, links.now()) < 2);
}

// A new process of a trainer that had finished: it does not know that, but the shards do.
TEST_CASE("who joins a job that has its result has nothing to do", "[trainer]") {
  const QuietLog quiet;
  OneParameter p(wire::Mode::sync);
  AnsweringLinks& links = *p.links;
  links.welcome.slices = {{.slice = 0, .version = 0}};
  PsClient& client = p.make_client();
  SECTION("it hears it with the greeting") {
    links.welcome.result = true;
    CHECK(client.join(0).over);
  }
  SECTION("it hears it when it has joined") {
    const uint64_t step = client.join(0).step;
    links.answers_pushes = false;
    float gradient = 1;
    bool over = false;
    try {
      client.begin_step(step, {}, {});
      client.push(0, View{.data = &gradient}, step);
      client.end_step();
      links.result = true;
      client.begin_step(step + 1, {}, {});
      client.pull(0, View{}, step + 1);
    } catch (const Rewind& back) {
      over = back.over;
    }
    CHECK(over);
  }
}

// Were the pserver lost before it has told the others, nobody but trainer 0 could tell them.
TEST_CASE("trainer 0 stays until the others have left", "[trainer]") {
  const QuietLog quiet;
  OneParameter p(wire::Mode::sync, 0);
  AnsweringLinks& links = *p.links;
  links.welcome.slices = {{.slice = 0, .version = 0}};
  PsClient& client = p.make_client();
  client.finish(client.join(0).step);
  links.finished = 2;
  client.wait_for_others();
  const Time begin = links.now();
  const auto byes = [&] {
    return std::count_if(links.completes.begin(), links.completes.end(),
                         [](const auto& c) { return c.phase == wire::Phase::bye && c.result; });
  };
  SECTION("and leaves when they have") {
    links.after_sleep = [&] {
      if (seconds(begin, links.now()) > 3) links.left = 2;
    };
    client.say_bye();
    CHECK(byes() == 1);
    CHECK(seconds(begin, links.now()) > 3);
    CHECK(seconds(begin, links.now()) < 4);
  }
  SECTION("one that stands still does not keep it for ever") {
    client.say_bye();
    CHECK(byes() == 1);
    CHECK(seconds(begin, links.now()) >= 10);
    CHECK(seconds(begin, links.now()) < 11);
  }
  SECTION("a pserver that is lost and returns hears it again") {
    links.after_sleep = [&] {
      if (byes() == 1 && links.greetings == 1) links[0].closed("cut");
      if (byes() == 2) links.left = 2;
    };
    links.greetings = 1;
    client.say_bye();
    CHECK(links.greetings == 2);
    CHECK(byes() == 2);
    CHECK(seconds(begin, links.now()) < 2);
  }
  SECTION("a pserver that ends the job ends the wait") {
    links.after_sleep = [&] { links.fail({wire::FailureCode::job_over, "the job has ended"}); };
    client.say_bye();
    CHECK(links.greetings == 1);
    CHECK(seconds(begin, links.now()) < 2);
  }
  // It has the result from its disk, and does not know whether the others have.
  SECTION("a pserver that was started again and lets nobody in does not") {
    links.refusal = {wire::FailureCode::job_over, "the job has ended"};
    links.greetings = 1;
    SECTION("but not for ever") {
      links.after_sleep = [&] {
        if (links.greetings == 1) links[0].closed("cut");
      };
      client.say_bye();
      CHECK(byes() == 1);
      CHECK(seconds(begin, links.now()) >= 10);
      CHECK(seconds(begin, links.now()) < 12);
      CHECK(links.greetings <= 12);
    }
    SECTION("and where it is lost too, its successor hears it again") {
      links.after_sleep = [&] {
        if (links.greetings == 1) links[0].closed("cut");
        if (links.greetings == 2) links.refusal.reset();
        if (byes() == 2) links.left = 2;
      };
      client.say_bye();
      CHECK(byes() == 2);
      CHECK(seconds(begin, links.now()) < 3);
    }
  }
}

// A dropped trainer of a job that has gone back: no shard knows where its data is.
TEST_CASE("sync goes on where the rounds are, with the trainer's own place in the data",
          "[trainer]") {
  const QuietLog quiet;
  OneParameter p(wire::Mode::sync);
  p.links->welcome.slices = {{.slice = 0, .version = 0}};
  PsClient& client = p.make_client();
  REQUIRE(client.join(0).step == 0);
  float gradient = 1;
  client.begin_step(0, {}, {.record = 1});
  client.push(0, View{.data = &gradient}, 0);
  client.end_step();
  p.links->welcome.slices = {{.slice = 0, .version = 3}};
  (*p.links)[0].closed("cut");
  std::optional<Rewind> to;
  try {
    client.begin_step(1, {.record = 1}, {.record = 2});
    client.pull(0, View{}, 1);
  } catch (const Rewind& back) {
    to = back;
  }
  REQUIRE(to);
  CHECK(to->step == 3);
  REQUIRE(to->place);
  CHECK(to->place->record == 1);
}
