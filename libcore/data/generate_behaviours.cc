#include "data/generate_behaviours.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace paddle {
namespace {

// Zipf's law with s = 1.1, as for click logs.
int64_t behaviour_rank(double u) {
  constexpr double items = static_cast<double>(behaviour_items / behaviour_groups);
  const double x = 1 + u * (std::pow(items, -0.1) - 1);
  return static_cast<int64_t>(std::clamp(std::pow(x, -10), 1.0, items)) - 1;
}

}  // namespace

Behaviour generate_behaviour(uint64_t seed, uint64_t i) {
  const RandomStream random(seed, hash_text("behaviours") ^ mix64(i));
  uint64_t drawn = 0;
  const auto uniform = [&] { return random.uniform_double(drawn++); };
  const auto any_group = [&] { return static_cast<int64_t>(uniform() * behaviour_groups); };
  const int64_t liked[2] = {any_group(), any_group()};
  const auto item = [&](double share_of_liked) {
    const bool likes = uniform() < share_of_liked;
    const int64_t favourite = liked[uniform() < 0.5], other = any_group();
    return behaviour_rank(uniform()) * behaviour_groups + (likes ? favourite : other);
  };
  Behaviour out;
  const auto length = 3 + static_cast<size_t>(uniform() * 18);
  while (out.history.size() < length) out.history.push_back(item(0.9));
  out.item = item(0.5);
  const int64_t group = out.item % behaviour_groups;
  const auto same = std::count_if(out.history.begin(), out.history.end(),
                                  [&](int64_t id) { return id % behaviour_groups == group; });
  const double share = static_cast<double>(same) / static_cast<double>(length);
  out.probability = 1 / (1 + std::exp(2.5 - 6 * share));
  out.label = uniform() < out.probability;
  return out;
}

void append_behaviour(const Behaviour& b, std::string& to) {
  to += std::to_string(b.history.size());
  for (const int64_t id : b.history) to += " " + std::to_string(id);
  to += " 1 " + std::to_string(b.item) + (b.label ? " 1 1\n" : " 1 0\n");
}

}  // namespace paddle
