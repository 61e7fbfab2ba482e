// The pages of the documentation, which the program carries: paddle help TOPIC.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace paddle {

struct HelpPage {
  std::string_view topic;  // "ctr"
  std::string_view path;   // "docs/ctr.md"
  std::string_view text;   // Markdown
};

// In order of their topics. Made from the files by embed_docs.py.
std::span<const HelpPage> help_pages();

// The page that a word names: a topic, with or without ".md", or the path of its file; null for
// none.
const HelpPage* find_page(std::string_view word);

// paddle help TOPIC: prints a page, or for "topics" the list of them.
int print_topic(std::span<const std::string> words);

}  // namespace paddle
