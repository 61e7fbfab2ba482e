#include "paddle/help_topics.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace paddle;

TEST_CASE("pages of the documentation", "[paddle]") {
  const auto pages = help_pages();
  CHECK(pages.size() > 20);
  CHECK(std::is_sorted(pages.begin(), pages.end(),
                       [](const HelpPage& a, const HelpPage& b) { return a.topic < b.topic; }));
  REQUIRE(find_page("modes") != nullptr);
  for (const char* name : {"modes.md", "Modes", "docs/modes.md"})
    CHECK(find_page(name) == find_page("modes"));
  CHECK(find_page("modes")->text.starts_with("# "));
  CHECK(find_page("readme")->path == "README.md");
  REQUIRE(find_page("tutorial") != nullptr);
  CHECK(find_page("tutorial")->path == "docs/tutorial/README.md");
  REQUIRE(find_page("1-first-model") != nullptr);
  CHECK(find_page("1-first-model") == find_page("tutorial/1-first-model"));
  CHECK(find_page("mode") == nullptr);
  CHECK(find_page("") == nullptr);
}
