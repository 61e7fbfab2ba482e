#include "paddle/shard_status.h"

#include <chrono>
#include <list>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace paddle {
namespace {

struct Answer {
  std::string endpoint;
  bool sparse = false;
  std::string problem = no_answer_in_time;  // "" where there is an answer
  bool again = false;
  wire::Body body;
  AnswerTimes times = {};
};

// The conversation with one shard: Hello, Welcome, the question, its answer.
class Question : public wire::Handler {
 public:
  Question(Answer& out, uint32_t index, uint32_t count, wire::Role role, wire::Body question)
      : out_(out), index_(index), count_(count), role_(role), question_(std::move(question)) {}

  asio::awaitable<void> ask(double seconds, const wire::Credentials& credentials) {
    try {
      begin_ = Clock::now();
      const wire::Endpoint to = wire::parse_endpoint(out_.endpoint, "pserver");
      const wire::Purpose purpose{role_, {}};
      std::unique_ptr<wire::Stream> stream =
          co_await wire::connect(to, seconds, credentials, purpose);
      out_.times.opened = paddle::seconds(begin_, Clock::now());
      connection_ = wire::Connection::start(std::move(stream), *this, false);
      greet();
    } catch (const Error& e) {
      out_.problem = e.what();
    }
  }

  // Lets go of the connection, while its io_context is still there.
  void end() {
    if (connection_ && connection_->open()) connection_->close(no_answer_in_time);
    connection_.reset();
  }

  wire::Landing land(wire::Connection&, const wire::Message&, uint64_t) override {
    return wire::Landing::discard();  // no answer here has bulk
  }

  void handle(wire::Connection& from, wire::Message& message, uint64_t) override {
    if (const auto* failure = std::get_if<wire::Failure>(&message.body)) {
      out_.problem = failure->message;
      out_.again = failure->code == wire::FailureCode::wait;
      from.close("refused");
    } else if (std::holds_alternative<wire::Welcome>(message.body)) {
      out_.times.asked_at = unix_seconds();
      from.send(2, question_);
      from.flush();
    } else if (std::holds_alternative<wire::Status>(message.body) ||
               std::holds_alternative<wire::Ack>(message.body)) {
      out_.body = std::move(message.body);
      out_.times.answered_at = unix_seconds();
      out_.times.answered = paddle::seconds(begin_, Clock::now());
      out_.problem.clear();
      answered_ = true;
      from.close("answered");
    } else {
      throw Error(Error::Kind::protocol, "it answered a question with message ",
                  name_of(message.body));
    }
  }

  void closed(wire::Connection&, const std::string& why) override {
    if (!answered_ && why != "refused") out_.problem = why;
  }

 private:
  void greet() {
    wire::Hello hello = wire::make_hello(role_);
    hello.shard = index_;
    hello.shards = count_;
    connection_->send(1, hello);
    connection_->flush();
  }

  Answer& out_;
  const uint32_t index_, count_;
  const wire::Role role_;
  const wire::Body question_;
  Time begin_{};
  bool answered_ = false;
  std::shared_ptr<wire::Connection> connection_;
};

std::vector<Answer> ask_all(const Endpoints& endpoints, wire::Role role, const wire::Body& question,
                            double seconds, const wire::Credentials& credentials) {
  std::vector<Answer> answers;
  for (const auto* list : {&endpoints.dense, &endpoints.sparse})
    for (const std::string& endpoint : *list)
      answers.push_back({.endpoint = endpoint, .sparse = list == &endpoints.sparse, .body = {}});
  std::list<Question> questions;
  asio::io_context io(1);  // ends before the questions, which its coroutines use
  uint32_t index = 0;
  for (Answer& answer : answers) {
    const size_t count = answer.sparse ? endpoints.sparse.size() : endpoints.dense.size();
    if (index == endpoints.dense.size() && answer.sparse) index = 0;
    Question& asked =
        questions.emplace_back(answer, index++, static_cast<uint32_t>(count), role, question);
    asio::co_spawn(io, asked.ask(seconds, credentials), asio::detached);
  }
  io.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds)));
  for (Question& asked : questions) asked.end();
  return answers;
}

}  // namespace

std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds,
                                    const wire::Credentials& credentials,
                                    std::vector<AnswerTimes>* times) {
  std::vector<ShardStatus> shards;
  for (Answer& answer :
       ask_all(endpoints, wire::Role::observer, wire::StatusAsk{}, seconds, credentials)) {
    if (times != nullptr) times->push_back(answer.times);
    ShardStatus& shard = shards.emplace_back();
    if (auto* status = std::get_if<wire::Status>(&answer.body))
      static_cast<wire::Status&>(shard) = std::move(*status);
    shard.sparse = answer.sparse;
    shard.endpoint = std::move(answer.endpoint);
    shard.problem = std::move(answer.problem);
  }
  return shards;
}

std::vector<CommandAnswer> command_shards(const Endpoints& endpoints, const wire::Command& command,
                                          double seconds, const wire::Credentials& credentials) {
  std::vector<CommandAnswer> out;
  for (Answer& answer : ask_all(endpoints, wire::Role::admin, command, seconds, credentials)) {
    const auto* ack = std::get_if<wire::Ack>(&answer.body);
    out.push_back({std::move(answer.endpoint), std::move(answer.problem), answer.again,
                   ack != nullptr ? ack->version : 0});
  }
  return out;
}

}  // namespace paddle
