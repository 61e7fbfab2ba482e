// What people looked at and whether they clicked on one thing more, from a known truth.
//
// There are 20 groups of 50 items. A person likes two groups; nine of ten items of the history,
// which has 3 to 20 of them, are of these groups, and half of the items that are offered. Within a
// group items follow Zipf's law. The log-odds of a click rise with the share of the history that is
// of the group of the item. Record i depends on the seed and i alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paddle {

constexpr int64_t behaviour_groups = 20, behaviour_items = 20 * 50;

struct Behaviour {
  std::vector<int64_t> history;
  int64_t item;
  double probability;
  bool label;
};

Behaviour generate_behaviour(uint64_t seed, uint64_t i);
// As MultiSlot text: history, item, label.
void append_behaviour(const Behaviour& b, std::string& to);

}  // namespace paddle
