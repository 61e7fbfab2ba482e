#include "base/version.h"

#include <catch2/catch.hpp>
#include <regex>

TEST_CASE("version block", "[base]") {
  const std::string block = paddle::version_block();
  std::string form = "PaddlePaddle \\d+\\.\\d+\\.\\d+, compiled with\n";
  for (const char* name : {"avx", "gpu", "mkl", "mkldnn", "double", "python", "rdma", "timer"})
    form += std::string("    with_") + name + ": (ON|OFF)\n";
  CHECK(std::regex_match(block, std::regex(form)));
}
