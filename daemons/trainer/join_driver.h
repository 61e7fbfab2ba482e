// Carries out what joining.h decides, with real connections, and hands it what they bring.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/transpile.h"
#include "tensor/scope.h"
#include "trainer/exchange.h"
#include "trainer/joining.h"
#include "trainer/ps_links.h"
#include "trainer/ps_values.h"
#include "trainer/row_exchange.h"

namespace paddle {

// What an exchange waits for: "pserver a:1 (fc_0.w_0, step 7), which is waiting for trainer 1".
std::string awaited_text(const ParamExchange& exchange, const RowExchange& rows,
                         const SliceLayout& layout, const Links& links, uint64_t step);

class JoinDriver {
 public:
  struct Parts {  // of the client; they outlive this
    const Cut& cut;
    Scope& scope;
    const SliceLayout& layout;
    Links& links;
    ParamExchange& exchange;
    RowExchange& rows;
    std::function<void()> first_values;  // into the scope, located
  };
  JoinDriver(Parts parts, wire::Hello hello, double peer_timeout);

  // Greets all shards and joins the job; returns where it goes on.
  // `finished`: this process has used all its data.
  const JoinDecision& run(const std::string& init, uint64_t first_step, bool finished);
  // Throws where a connection of a trainer that has joined is broken: Disrupted where joining again
  // may help, else Error.
  void check();
  void check(size_t shard);

  const wire::Hello& hello() const { return joining_.hello(); }
  const JoinDecision& decision() const { return joining_.decision(); }
  uint64_t epoch() const { return joining_.decision().epoch; }
  // Updates of all trainers in a slice or a part since that version, at most, when the shards were
  // greeted last.
  uint64_t updates_since(uint64_t version) const;

 private:
  void perform();
  bool perform(const JoinAction& action);
  bool request(const JoinAction& action);
  void configure(size_t shard);
  void join(size_t shard, uint64_t id);
  void look();
  void look_at(size_t shard);

  Parts p_;
  Joining joining_;
  std::string init_;
  std::vector<std::unique_ptr<FirstValues>> sending_;  // to each shard
  std::vector<uint64_t> asked_;  // the request whose Ack is awaited, of each shard; 0 for none
};

}  // namespace paddle
