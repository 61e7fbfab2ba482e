// Whether a snapshot of a table holds changes or all of it.
#include "pserver/snapshot_chain.h"

#include <catch2/catch.hpp>

namespace snapshot_chain_test {

using namespace paddle;

TEST_CASE("changes are written where they are few, and not for ever") {
  const ChangesLimits limits{.most = 3, .share = 0.5};
  const TableChain none, fresh{.step = 10, .mark = 7, .whole = 1000};
  struct Case {
    const char* what;
    TableChain chain;
    uint64_t expected;
    bool changes;
  };
  TableChain grown = fresh, longest = fresh;
  grown.changes = 400;
  grown.dumps = 1;
  longest.changes = 3;
  longest.dumps = 3;
  const Case cases[] = {{"there is nothing to add to", none, 0, false},
                        {"nothing changed", fresh, 0, true},
                        {"half of it changed", fresh, 500, true},
                        {"more than half changed", fresh, 501, false},
                        {"with those before, half of it", grown, 100, true},
                        {"with those before, more", grown, 101, false},
                        {"too many in a row", longest, 1, false},
                        {"more than any number", fresh, ~uint64_t{0}, false}};
  for (const Case& c : cases) {
    INFO(c.what);
    CHECK(dump_changes(c.chain, c.expected, limits) == c.changes);
  }
  CHECK_FALSE(dump_changes(fresh, 0, {.most = 0}));
}

TEST_CASE("a chain grows by changes and begins anew with a whole dump") {
  TableChain chain = extended({}, false, 100, 5, 4000);
  CHECK(chain == TableChain{.step = 100, .mark = 5, .whole = 4000});
  chain = extended(chain, true, 200, 9, 30);
  chain = extended(chain, true, 300, 12, 50);
  CHECK(chain == TableChain{.step = 300, .mark = 12, .whole = 4000, .changes = 80, .dumps = 2});
  CHECK(extended(chain, false, 400, 20, 5000) ==
        TableChain{.step = 400, .mark = 20, .whole = 5000});
}

TEST_CASE("a restart never reads more than a whole dump and its share of changes") {
  const ChangesLimits limits{.most = 16, .share = 0.5};
  TableChain chain;
  uint64_t mark = 1, whole = 0, longest = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    const uint64_t size = 10000 + step, changed = step * 7919 % 1500;
    const bool changes = dump_changes(chain, changed, limits);
    chain = extended(chain, changes, step, ++mark, changes ? changed : size);
    whole += !changes;
    longest = std::max<uint64_t>(longest, chain.dumps);
    CHECK(chain.whole + chain.changes <= size + size / 2);
  }
  CHECK(whole < 50);
  CHECK(longest > 5);
}

}  // namespace snapshot_chain_test
