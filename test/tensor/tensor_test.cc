#include "tensor/tensor.h"

#include <catch2/catch.hpp>

using namespace paddle;
using Catch::Matchers::Contains;

TEST_CASE("shape", "[tensor]") {
  SECTION("counts elements, and knows what it does not know") {
    CHECK(Shape{2, 3}.numel() == 6);
    CHECK(Shape{}.numel() == 1);
    CHECK(Shape{-1, 3}.numel() == -1);
    CHECK(Shape{2, 0, 5}.numel() == 0);
  }
  SECTION("refuses products beyond 64 bits") {
    CHECK_THROWS_WITH((Shape{int64_t{1} << 62, 4}.numel()), Contains("64 bits"));
  }
  SECTION("compares") {
    CHECK(Shape{-1, 3}.compatible(Shape{7, 3}));
    CHECK_FALSE(Shape{-1, 3} == Shape{7, 3});
    CHECK(Shape{-1, 13}.str() == "[-1, 13]");
  }
}

TEST_CASE("tensor", "[tensor]") {
  SECTION("copies share, clones do not") {
    Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
    const Tensor shared = a, own = a.clone();
    a.data<float>()[0] = 9;
    CHECK(shared.data<float>()[0] == 9);
    CHECK(own.data<float>()[0] == 1);
    a.resize(DType::f32, {2, 2});
    CHECK(a.raw() != shared.raw());
  }
  SECTION("rows are a window") {
    const Tensor a = Tensor::of<int64_t>({3, 2}, {0, 1, 2, 3, 4, 5});
    CHECK(a.rows(1, 2).data<int64_t>()[1] == 3);
    CHECK_THROWS_WITH(a.rows(2, 4), Contains("[3, 2]"));
  }
  SECTION("is aligned") {
    CHECK(reinterpret_cast<uintptr_t>(Tensor(DType::u8, {3}).raw()) % 64 == 0);
  }
  SECTION("type names go both ways and mistakes are answered") {
    CHECK(dtype_of(name_of(DType::i64)) == DType::i64);
    CHECK_THROWS_WITH(dtype_of("flaot32"), Contains("did you mean 'float32'"));
  }
}

TEST_CASE("lod", "[tensor]") {
  CHECK_NOTHROW(check_lod({{0, 2, 3}, {0, 1, 4, 6}}, 6));
  CHECK_THROWS_WITH(check_lod({{0, 2, 5}}, 4), Contains("ends at 5, expected 4"));
  CHECK_THROWS_WITH(check_lod({{0, 3, 2}}, 2), Contains("falls"));
  CHECK_THROWS_WITH(check_lod({{1, 2}}, 2), Contains("start at 0"));
}
