#include "options/man_page.h"

#include <catch2/catch.hpp>

using namespace paddle;
using Catch::Contains;

TEST_CASE("manual pages", "[options]") {
  const Command command{"look", "Look at it", nullptr, [] {
                          return OptionTable{{.name = "far_away",
                                              .type = OptionType::integer,
                                              .default_value = "7",
                                              .help = "How far, as 'miles' \\ leagues",
                                              .group = "Distance",
                                              .aliases = {"far"},
                                              .environment = {"FAR"}},
                                             {.name = "all",
                                              .type = OptionType::flag,
                                              .default_value = "false",
                                              .help = ".all of it",
                                              .group = "Distance"}};
                        }};
  const std::string help =
      "usage: p look A [--all]\n       p look B\nLooks at a thing.\n.Really.\n\nDistance:\n  x\n";
  const std::string page = man_page("p", command, help, "1.2.3");
  CHECK(
      page.starts_with(".TH \"P\\-LOOK\" 1 \"\" \"Paddle 1.2.3\" \"Paddle\"\n"
                       ".SH NAME\np\\-look \\- Look at it\n"
                       ".SH SYNOPSIS\n.nf\np look A [\\-\\-all]\np look B\n.fi\n"
                       ".SH DESCRIPTION\nLooks at a thing.\n\\&.Really.\n"
                       ".SH OPTIONS\n"));
  CHECK_THAT(page, Contains(".SS \"Distance\"\n.TP\n\\fB\\-\\-far_away\\fR=\\fI7\\fR, "
                            "\\fB\\-\\-far\\fR\nHow far, as \\(aqmiles\\(aq \\e leagues.\n"
                            "Variables: PADDLE_INIT_FAR_AWAY, FAR.\n"
                            ".TP\n\\fB\\-\\-all\\fR\n\\&.all of it.\n"));
  CHECK_THAT(page, !Contains("\n  x"));
  const Command bare{"b", "Be", nullptr};
  CHECK_THAT(man_page("p", bare, "", "1"),
             Contains("p b [flags]") && Contains(".SH DESCRIPTION\nBe.\n") && !Contains("OPTIONS"));
  CHECK_THAT(man_page("p", std::vector{command, bare}, "1"),
             Contains(".TP\n\\fBlook\\fR\nLook at it.\n") &&
                 Contains(".BR p\\-look (1),\n.BR p\\-b (1)\n"));
}
