#include "obs/plot.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>
#include <vector>

using namespace paddle;

TEST_CASE("plot", "[obs]") {
  const std::vector<double> falling = {8, 4, 2, 1, 0.5, 0.25, 0};

  SECTION("draws with ASCII letters") {
    CHECK(plot(falling,
               {.title = "cost", .x_label = "pass", .width = 24, .height = 5, .unicode = false}) ==
          "cost\n"
          "8 +**\n"
          "  |  *\n"
          "4 +   ****\n"
          "  |       ******\n"
          "0 +             ********\n"
          "  +---------------------\n"
          "   1       pass        7\n");
  }
  SECTION("draws with braille dots") {
    CHECK(plot(std::vector<double>{0, 1}, {.width = 12, .height = 3}) ==
          "  1 ┤     ⢀⡠⠊\n"
          "0.5 ┤   ⡠⠔⠁\n"
          "  0 ┤⣀⠔⠊\n"
          "    └────────\n"
          "     1      2\n");
  }
  SECTION("bends an exponential straight on a logarithmic axis") {
    std::vector<double> values;
    for (int i = 0; i < 5; ++i) values.push_back(std::pow(10.0, -i));
    CHECK(plot(values, {.x_first = 0,
                        .x_last = 4,
                        .width = 14,
                        .height = 5,
                        .unicode = false,
                        .logarithmic = true}) ==
          "     1 +**\n"
          "       |  **\n"
          "  0.01 +    *\n"
          "       |     **\n"
          "0.0001 +       *\n"
          "       +--------\n"
          "        0      4\n");
  }
  SECTION("takes what is not finite as a gap, and survives odd input") {
    CHECK(plot({}, {}) == "(no finite value to draw)\n");
    CHECK(plot(std::vector<double>{NAN, INFINITY}, {.title = "x"}) ==
          "x\n(no finite value to draw)\n");
    CHECK(plot(std::vector<double>{1, NAN, 1}, {.width = 12, .height = 3, .unicode = false}) ==
          "  |\n"
          "1 +*       *\n"
          "  |\n"
          "  +---------\n"
          "   1       3\n");
    CHECK_FALSE(
        plot(std::vector<double>{-1}, {.width = 0, .height = 0, .logarithmic = true}).empty());
  }
  SECTION("keeps to its size with many values") {
    std::vector<double> many;
    for (int i = 0; i < 100000; ++i) many.push_back(std::sin(i * 1e-4));
    std::istringstream lines(plot(many, {.width = 60, .height = 10, .unicode = false}));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 60);
    CHECK(count == 12);
  }
}
