#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("hash: the numbers of libxxhash", "[ops]") {
  // XXH64 of the ids as little-endian bytes, with the seeds 0, 1 and 2.
  struct Known {
    std::vector<int64_t> ids;
    std::vector<uint64_t> hashes;
  };
  const std::vector<Known> all{
      {{1}, {11468921228449061269ull, 10014674984644089609ull, 12980971304815789713ull}},
      {{2, 3}, {1903288345924078488ull, 6751177836864725337ull, 13310174714535108675ull}},
      {{1, 2, 3, 4}, {8356527653647720045ull, 1753580392227875407ull, 7500156793689914160ull}},
      {{1, 2, 3, 4, 5}, {13569604984786362696ull, 2395113362328198ull, 11608303770126307157ull}},
      {{-1, 1099511627776, 7, 8, 9, 10, 11, 12, 13},
       {6914276894861602768ull, 14393279300526481905ull, 11099695643626096251ull}}};
  for (const Known& k : all) {
    const OpCase c{"hash",
                   {{"X", {Tensor::of<int64_t>({1, static_cast<int64_t>(k.ids.size())}, k.ids)}}},
                   {{"num_hash", 3}, {"mod_by", 2147483647}}};
    const Tensor out = run_op(c).at("Out")[0];
    CHECK(out.shape() == Shape{1, 3, 1});
    for (size_t i = 0; i < 3; ++i)
      CHECK(out.data<int64_t>()[i] == static_cast<int64_t>(k.hashes[i] % 2147483647));
  }
  const OpCase narrow{"hash",
                      {{"X", {Tensor::of<int32_t>({1, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8})}}},
                      {{"num_hash", 2}, {"mod_by", 1000}}};
  CHECK(values_of(run_op(narrow).at("Out")[0]) ==
        std::vector<double>{423175065405346431ull % 1000, 12833680259243787389ull % 1000});
  CHECK_THROWS_WITH(run_op({"hash", {{"X", {Tensor::of<int64_t>({1, 1}, {1})}}}, {{"mod_by", 0}}}),
                    Contains("must be positive"));
}
