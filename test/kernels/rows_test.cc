#include "kernels/rows.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "base/random.h"

namespace paddle {
namespace {

std::vector<int64_t> some_ids(int64_t count, uint64_t height) {
  const RandomStream random(11, 1);
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(random.below(i, height));
  return ids;
}

template <class T>
std::vector<T> some_values(int64_t n, uint64_t stream) {
  const RandomStream random(11, stream);
  std::vector<T> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random.uniform_double(i) - 0.5);
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("gather copies rows and zeroes padding", "", float, double) {
  const int64_t width = GENERATE(0, 1, 3, 8, 10, 16, 33, 100), count = GENERATE(0, 1, 40, 9001);
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads);
  const int64_t height = 257, padding = 3;
  const auto ids = some_ids(count, height);
  const auto table = some_values<TestType>(height * width, 2);
  std::vector<TestType> out(static_cast<size_t>(count * width + 1), 5);
  gather_rows(pool, ids.data(), count, width, table.data(), out.data(), padding);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids[static_cast<size_t>(i)];
    for (int64_t j = 0; j < width; ++j) {
      const TestType truth = id == padding ? 0 : table[static_cast<size_t>(id * width + j)];
      REQUIRE(out[static_cast<size_t>(i * width + j)] == truth);
    }
  }
  CHECK(out.back() == 5);
}

TEMPLATE_TEST_CASE("scatter adds in order of occurrence whatever the threads", "", float, double) {
  const int64_t width = GENERATE(1, 8, 10, 33), count = GENERATE(0, 1, 500, 20011);
  ThreadPool one(1), three(3);
  const int64_t height = 97, padding = 5;
  const auto ids = some_ids(count, height);
  const auto values = some_values<TestType>(count * width, 3);
  const auto start = some_values<TestType>(height * width, 4);
  std::vector<double> truth(start.begin(), start.end());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = ids[static_cast<size_t>(i)];
    if (id == padding) continue;
    for (int64_t j = 0; j < width; ++j)
      truth[static_cast<size_t>(id * width + j)] -=
          0.25 * double{values[static_cast<size_t>(i * width + j)]};
  }
  auto table = start, again = start;
  const TestType scale = TestType(-0.25);
  scatter_add_rows(one, ids.data(), count, width, scale, values.data(), table.data(), padding);
  scatter_add_rows(three, ids.data(), count, width, scale, values.data(), again.data(), padding);
  CHECK(table == again);
  for (size_t i = 0; i < table.size(); ++i) REQUIRE(table[i] == Approx(truth[i]).margin(1e-4));
}

TEMPLATE_TEST_CASE("merge sorts ids and sums duplicates in order", "", float, double) {
  const int64_t count = GENERATE(0, 1, 2, 700, 10007), width = GENERATE(1, 10, 16);
  const uint64_t height = GENERATE(uint64_t{1}, uint64_t{50}, uint64_t{1} << 40);
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads);
  const auto ids = some_ids(count, height);
  const auto values = some_values<TestType>(count * width, 5);
  std::map<int64_t, std::vector<TestType>> truth;
  for (int64_t i = 0; i < count; ++i) {
    const auto first = values.begin() + i * width;
    auto [row, fresh] =
        truth.try_emplace(ids[static_cast<size_t>(i)], std::vector<TestType>(first, first + width));
    if (fresh) continue;
    for (int64_t j = 0; j < width; ++j) row->second[static_cast<size_t>(j)] += first[j];
  }
  const size_t bytes = row_scratch_bytes(count);
  std::vector<int64_t> scratch(bytes / 8 + 1, 77), out_ids(static_cast<size_t>(count) + 1, -9);
  std::vector<TestType> out(static_cast<size_t>(count * width + 1), 5);
  const int64_t groups = merge_rows(pool, ids.data(), count, width, values.data(), scratch.data(),
                                    out_ids.data(), out.data());
  CHECK(scratch.back() == 77);
  REQUIRE(groups == static_cast<int64_t>(truth.size()));
  size_t g = 0;
  for (const auto& [id, row] : truth) {
    REQUIRE(out_ids[g] == id);
    REQUIRE(std::vector<TestType>(out.begin() + static_cast<int64_t>(g) * width,
                                  out.begin() + static_cast<int64_t>(g + 1) * width) == row);
    ++g;
  }
}

TEST_CASE("negative ids sort below others") {
  const std::vector<int64_t> ids{5, -1, 5, std::numeric_limits<int64_t>::min(), 0};
  ThreadPool pool(1);
  std::vector<int64_t> scratch(row_scratch_bytes(5) / 8);
  const RowGroups groups = group_rows(pool, ids.data(), 5, scratch.data());
  REQUIRE(groups.groups == 4);
  CHECK(std::vector<int64_t>(groups.ids, groups.ids + 4) ==
        std::vector<int64_t>{std::numeric_limits<int64_t>::min(), -1, 0, 5});
  CHECK(std::vector<int64_t>(groups.begin, groups.begin + 5) ==
        std::vector<int64_t>{0, 1, 2, 3, 5});
  CHECK(std::vector<int64_t>(groups.order, groups.order + 5) ==
        std::vector<int64_t>{3, 1, 4, 0, 2});
}

TEST_CASE("first_bad_id finds ids outside the table") {
  const std::vector<int64_t> ids{0, 9, -1, 10};
  ThreadPool pool(1);
  CHECK(first_bad_id(pool, ids.data(), 2, 10) == -1);
  CHECK(first_bad_id(pool, ids.data(), 4, 10) == 2);
  CHECK(first_bad_id(pool, ids.data(), 4, 10, -1) == 3);
  CHECK(first_bad_id(pool, ids.data(), 4, 11, -1) == -1);
  CHECK(first_bad_id(pool, ids.data(), 0, 0) == -1);
}

TEST_CASE("rows left over by a merge change no sum, and padding is cleared") {
  ThreadPool pool(1);
  std::vector<int64_t> ids{4, 6, 9, 9};
  std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  pad_rows(pool, 2, 4, 2, ids.data(), values.data());
  CHECK(ids == std::vector<int64_t>{4, 6, 4, 4});
  CHECK(values == std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0});
  clear_rows(pool, ids.data(), 4, 6, 2, values.data());
  CHECK(values == std::vector<float>{1, 2, 0, 0, 0, 0, 0, 0});
  pad_rows(pool, 4, 4, 2, ids.data(), values.data());
  CHECK(values[0] == 1);
}

TEST_CASE("rows of any type are gathered by their bytes") {
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads);
  const auto ids = some_ids(60000, 100);
  std::vector<int16_t> table(300), out(ids.size() * 3);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int16_t>(i);
  gather_row_bytes(pool, ids.data(), 60000, 6, table.data(), out.data());
  bool right = true;
  for (size_t i = 0; i < out.size(); ++i)
    right = right && out[i] == ids[i / 3] * 3 + static_cast<int64_t>(i % 3);
  CHECK(right);
  gather_row_bytes(pool, ids.data(), 60000, 0, nullptr, nullptr);
}

}  // namespace paddle
