#include "kernels/memory.h"

#include <catch2/catch.hpp>
#include <vector>

#include "kernels/broadcast.h"
#include "kernels/class_loss.h"
#include "kernels/strided.h"

namespace paddle {
namespace {

struct Negate {
  template <class T>
  T operator()(T x) const {
    return -x;
  }
};

struct Put {
  const int* from;
  int* to;
  void operator()(int64_t a, int64_t b) const { to[a] = from[b]; }
};

}  // namespace

TEST_CASE("numbers pass between the host and a device") {
  ThreadPool pool(1);
  const Device device = pool;
  std::vector<int64_t> x(5, 7), y(5, 0);
  fill(device, 4, x.data(), int64_t{3});
  CHECK(x == std::vector<int64_t>{3, 3, 3, 3, 7});
  copy(device, 4, y.data(), x.data());
  CHECK(y == std::vector<int64_t>{3, 3, 3, 3, 0});
  copy(device, 5, y.data(), y.data());
  write_one(device, int64_t{9}, y.data() + 2);
  CHECK(read_one(device, y.data() + 2) == 9);
  const int64_t host[] = {1, 2};
  write_all(device, 2, host, y.data());
  CHECK(y == std::vector<int64_t>{1, 2, 9, 3, 0});
  copy_elements(device, 2, sizeof(int64_t), x.data(), y.data());
  CHECK(x == std::vector<int64_t>{1, 2, 3, 3, 7});
}

TEST_CASE("find_value finds the first, count_other counts the rest") {
  ThreadPool pool(1);
  const std::vector<float> x{2, 0, -100, 0, -100};
  CHECK(find_value(pool, 5, x.data(), 0.0f) == 1);
  CHECK(find_value(pool, 5, x.data(), 5.0f) == -1);
  CHECK(find_value(pool, 0, x.data(), 2.0f) == -1);
  CHECK(count_other(pool, 5, x.data(), -100.0f) == 3);
  CHECK(count_other(pool, 0, x.data(), -100.0f) == 0);
}

TEST_CASE("first_bad_label passes over ignored rows") {
  ThreadPool pool(1);
  const std::vector<int64_t> labels{0, 2, -100, 3, -1};
  CHECK(first_bad_label(pool, {labels.data(), -100}, 3, 3) == -1);
  CHECK(first_bad_label(pool, {labels.data(), -100}, 5, 3) == 3);
  CHECK(first_bad_label(pool, {labels.data(), -100}, 5, 4) == 4);
  CHECK(first_bad_label(pool, {labels.data(), -1}, 5, 4) == 2);
}

TEST_CASE("strided_each meets every element once, whatever the strides") {
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads);
  const int64_t rows = 300, columns = 200;
  std::vector<int> from(static_cast<size_t>(rows * columns)), to(from.size(), -1), truth(to);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  SECTION("transposed") {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        truth[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
    Strided nest;
    nest.add(columns, rows, 1);
    nest.add(rows, 1, columns);
    strided_each(pool, nest, Put{from.data(), to.data()});
  }
  SECTION("one row for all") {
    for (size_t i = 0; i < to.size(); ++i) truth[i] = from[i % static_cast<size_t>(columns)];
    Strided nest;
    nest.add(rows, columns, 0);
    nest.add(columns, 1, 1);
    strided_each(pool, nest, Put{from.data(), to.data()});
  }
  SECTION("every second element") {
    for (size_t i = 0; i < to.size(); i += 2) truth[i] = from[i / 2];
    Strided nest;
    nest.add(rows * columns / 2, 2, 1);
    strided_each(pool, nest, Put{from.data(), to.data()});
  }
  SECTION("nothing") {
    Strided nest;
    nest.add(0, 1, 1);
    strided_each(pool, nest, Put{from.data(), to.data()});
  }
  CHECK(to == truth);
}

TEST_CASE("one_for_all repeats one number") {
  ThreadPool pool(3);
  const int64_t n = GENERATE(0, 1, 5, 40000);
  const float one = 2.5f;
  std::vector<float> out(static_cast<size_t>(n) + 1, 1);
  broadcast(pool, one_for_all(n), Negate{}, out.data(), &one);
  std::vector<float> truth(out.size(), -2.5f);
  truth.back() = 1;
  CHECK(out == truth);
}

}  // namespace paddle
