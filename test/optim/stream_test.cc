// Updates that go past the cache against those that do not: the same bits, wherever arrays begin
// and end.
#include "optim/stream.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "optim/rule.h"

using namespace paddle;
using namespace paddle::optim;

namespace {

template <class T>
struct Arrays {
  std::vector<T> from, to, grad;
  std::vector<std::vector<T>> states;

  Arrays(size_t n, size_t offset, size_t state_count) {
    const auto fill = [&](std::vector<T>& v, int seed, bool positive) {
      v.resize(n + offset + 64);
      for (size_t i = 0; i < v.size(); ++i) {
        const auto x = static_cast<T>((i * 7919 + static_cast<size_t>(seed)) % 1009) / T(997);
        v[i] = positive ? x + T(0.1) : x - T(0.5);
      }
    };
    fill(from, 1, false);
    fill(to, 2, false);
    fill(grad, 3, false);
    states.resize(state_count);
    for (std::vector<T>& s : states) fill(s, 4, true);
  }

  void update(const Rule& rule, ThreadPool& pool, size_t offset, size_t n, bool streams) {
    const std::vector<T> numbers(rule.numbers.size(), T(0.125));
    std::vector<T*> at;
    for (std::vector<T>& s : states) at.push_back(s.data() + offset);
    const Call<T> call{pool, numbers, to.data() + offset, at, from.data(), streams};
    apply_dense(rule, call, grad.data(), static_cast<int64_t>(n));
    end_streams();
  }
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace

TEMPLATE_TEST_CASE("updates past the cache have the bits of others", "[optim]", float, double) {
  ThreadPool one(1), three(3);
  for (const Rule& rule : rules())
    for (ThreadPool* pool : {&one, &three})
      for (const size_t n : {size_t{1}, size_t{63}, size_t{64}, size_t{257}, size_t{40003}})
        for (const size_t offset : {size_t{0}, size_t{1}, size_t{15}}) {
          INFO(rule.type << ", " << n << " elements at " << offset);
          Arrays<TestType> plain(n, offset, rule.states.size()), streamed = plain;
          const std::vector<TestType> before = plain.to;
          plain.update(rule, *pool, offset, n, false);
          streamed.update(rule, *pool, offset, n, true);
          REQUIRE(same_bits(plain.to, streamed.to));
          REQUIRE(same_bits(plain.from, streamed.from));
          for (size_t k = 0; k < plain.states.size(); ++k)
            REQUIRE(same_bits(plain.states[k], streamed.states[k]));
          REQUIRE_FALSE(same_bits(before, streamed.to));
        }
}
