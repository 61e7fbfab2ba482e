#include "paddle/shard_status.h"

#include <list>
#include <memory>

#include "base/error.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace paddle {
namespace {

constexpr const char* too_late = "no answer in time";

// The conversation with one shard: Hello, Welcome, StatusAsk, Status.
class Question : public wire::Handler {
 public:
  Question(ShardStatus& out, uint32_t index, uint32_t count)
      : out_(out), index_(index), count_(count) {
    out_.problem = too_late;
  }

  asio::awaitable<void> ask(double seconds, const wire::Credentials& credentials) {
    try {
      const wire::Endpoint to = wire::parse_endpoint(out_.endpoint, "pserver");
      const wire::Purpose purpose;  // to observe
      std::unique_ptr<wire::Stream> stream =
          co_await wire::connect(to, seconds, credentials, purpose);
      connection_ = wire::Connection::start(std::move(stream), *this, false);
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

  wire::Landing land(wire::Connection&, const wire::Message&, uint64_t) override {
    return wire::Landing::discard();  // no answer here has bulk
  }

  void handle(wire::Connection& from, wire::Message& message, uint64_t) override {
    if (const auto* failure = std::get_if<wire::Failure>(&message.body)) {
      out_.problem = failure->message;
      from.close("refused");
    } else if (std::holds_alternative<wire::Welcome>(message.body)) {
      from.send(2, wire::StatusAsk{});
      from.flush();
    } else if (auto* status = std::get_if<wire::Status>(&message.body)) {
      status->sparse = out_.sparse;
      static_cast<wire::Status&>(out_) = std::move(*status);
      out_.problem.clear();
      answered_ = true;
      from.close("answered");
    } else {
      throw Error(Error::Kind::protocol, "it answered a question about its state with message ",
                  name_of(message.body));
    }
  }

  void closed(wire::Connection&, const std::string& why) override {
    if (!answered_ && why != "refused") out_.problem = why;
  }

 private:
  void greet() {
    wire::Hello hello = wire::make_hello(wire::Role::observer);
    hello.shard = index_;
    hello.shards = count_;
    connection_->send(1, hello);
    connection_->flush();
  }

  ShardStatus& out_;
  const uint32_t index_, count_;
  bool answered_ = false;
  std::shared_ptr<wire::Connection> connection_;
};

}  // namespace

std::vector<ShardStatus> ask_shards(const Endpoints& endpoints, double seconds,
                                    const wire::Credentials& credentials) {
  std::vector<ShardStatus> shards;
  for (const auto* list : {&endpoints.dense, &endpoints.sparse})
    for (const std::string& endpoint : *list) {
      shards.emplace_back();
      shards.back().endpoint = endpoint;
      shards.back().sparse = list == &endpoints.sparse;
    }
  std::list<Question> questions;
  asio::io_context io(1);  // ends before the questions, which its coroutines use
  uint32_t index = 0;
  for (ShardStatus& shard : shards) {
    const size_t count = shard.sparse ? endpoints.sparse.size() : endpoints.dense.size();
    if (index == endpoints.dense.size() && shard.sparse) index = 0;
    Question& question = questions.emplace_back(shard, index++, static_cast<uint32_t>(count));
    asio::co_spawn(io, question.ask(seconds, credentials), asio::detached);
  }
  io.run_for(std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds)));
  for (Question& question : questions) question.end();
  return shards;
}

}  // namespace paddle
