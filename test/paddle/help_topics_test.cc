#include "paddle/help_topics.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "paddle/layer_examples.h"

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

TEST_CASE("examples of layers", "[paddle]") {
  const LayerExamples found = examples_of(
      "# A page\n\n```json\n\"inputs\": [\n  {\"name\": \"x\"}\n]\n```\n\n"
      "```json\n{\"type\": \"fc\", \"input\": \"x\",\n \"act\": \"relu\"},\n{\"type\": \"fc\", "
      "\"input\": \"y\"},\n{\"type\": \"abs\", \"input\": \"x\"}\n```\nmore");
  CHECK(found == LayerExamples{{"fc", R"({"type": "fc", "input": "x", "act": "relu"})"},
                               {"abs", R"({"type": "abs", "input": "x"})"}});
  CHECK(layer_examples().size() > 100);
  CHECK(examples_of("```json").empty());
}
