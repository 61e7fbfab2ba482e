#include "base/wrap.h"

#include <catch2/catch.hpp>

using namespace paddle;

TEST_CASE("wrapped text", "[base]") {
  SECTION("breaks between words, and indents what follows") {
    CHECK(wrapped("a short line", 40) == "a short line");
    CHECK(wrapped("one two three four five six seven", 25) ==
          "one two three four five\n  six seven");
    CHECK(wrapped("one two three four five six", 25, 0) == "one two three four five\nsix");
  }
  SECTION("keeps its own newlines and the indentation of a line") {
    CHECK(wrapped("2 problems:\n  the first is rather long here\n  b", 25) ==
          "2 problems:\n  the first is rather\n    long here\n  b");
    CHECK(wrapped("a\n", 25) == "a\n");
    CHECK(wrapped("", 25).empty());
  }
  SECTION("leaves a long word whole") {
    const std::string path = "/a/path/that/is/longer/than/any/line";
    CHECK(wrapped("see " + path + " for more", 25) == "see\n  " + path + "\n  for more");
  }
  SECTION("counts characters, not bytes") {
    CHECK(columns_of("aé…") == 3);
    CHECK(wrapped("éééé éééé éééé éééé éééé", 25) == "éééé éééé éééé éééé éééé");
  }
}

TEST_CASE("text of others as one line", "[base]") {
  CHECK(one_line("") == "");
  CHECK(one_line("cannot read\n  while loading  'é'") == "cannot read while loading  'é'");
  CHECK(one_line("\x1b[2Ja\r\n\tb\x7f") == " [2Ja b");
  CHECK(one_line("\xc2\x9b"
                 "31m") == " 31m");  // the control sequence introducer of 8 bits
  CHECK(one_line("\xc2") == "\xc2");
}

TEST_CASE("wrapped command", "[base]") {
  CHECK(wrapped_command({"paddle", "train"}, 40) == "paddle train");
  CHECK(wrapped_command({"paddle", "train", "--config=a.json", "--job=test"}, 30) ==
        "paddle train \\\n    --config=a.json \\\n    --job=test");
}

TEST_CASE("a word for a shell", "[base]") {
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
}
