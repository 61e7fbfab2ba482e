// The least that can train through a shard: one connection with the protocol's own messages, one
// trainer in sync mode, and parameters of chosen sizes. What the trainer's client adds on top is
// measured by dist_bench.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/transpile.h"
#include "tensor/scope.h"
#include "wire/connection.h"
#include "wire/credentials.h"

namespace paddle::bench {

// A program that trains parameters of so many elements each with sgd, and its cut for one shard.
struct Parameters {
  Cut cut;
  Scope scope;  // first values: all parameters are 0
};
std::unique_ptr<Parameters> make_parameters(const std::vector<int64_t>& elements, int trainers,
                                            const std::string& optimizer = "sgd");

class ShardClient : private wire::Handler {
 public:
  enum class Ask { push, pull, push_pull };

  // Greets, configures and joins.
  ShardClient(const std::string& endpoint, Parameters& parameters, bool spins,
              const wire::Credentials& credentials = {});
  ~ShardClient() override;

  // One request for a slice; the answer comes later. A slice has one push in flight at most where
  // the answer holds its values.
  void ask(Ask what, size_t slice);
  // Until no more than `most` requests are unanswered.
  void wait(size_t most);

  // Answers per second over so many seconds, with `window` requests in flight, over slices
  // [first, first + count) in turn.
  double rate(Ask what, size_t first, size_t count, size_t window, double secs);
  // Seconds of each of `count` requests, one after the other.
  std::vector<double> latencies(Ask what, size_t slice, size_t count);
  // Reads all values anew and throws Error(numeric) unless each is what sgd makes of 0 and the
  // constant gradient of ask() after as many steps as were pushed.
  void verify();

 private:
  struct Line {
    Tensor gradient, values;
    uint64_t steps = 0;
  };
  wire::Landing land(wire::Connection&, const wire::Message& message, uint64_t bulk) override;
  void handle(wire::Connection&, wire::Message& message, uint64_t bulk) override;
  void closed(wire::Connection&, const std::string& why) override;
  void turn();  // waits for something to happen
  void greet();
  void configure(const Parameters& parameters);

  asio::io_context io_{1};
  std::shared_ptr<wire::Connection> connection_;  // shared with Asio's pending operations
  bool spins_, greeted_ = false;
  std::string trouble_;
  uint64_t epoch_ = 0, asked_ = 0, answered_ = 0;
  std::vector<Line> lines_;
};

}  // namespace paddle::bench
