#include "paddle/help_topics.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "options/program.h"

namespace paddle {
namespace {

const char* const help_usage =
    "usage: paddle help\n"
    "       paddle help COMMAND\n"
    "       paddle help TOPIC\n"
    "       paddle help topics\n"
    "Prints the list of commands, the flags of one, a page of the documentation or\n"
    "the list of pages. A page that has the name of a command is named with its\n"
    "ending: paddle help ui.md\n";

// "# Click-through rates" without the sign.
std::string_view heading_of(const HelpPage& page) {
  const std::string_view line = page.text.substr(0, page.text.find('\n'));
  return line.starts_with("# ") ? line.substr(2) : line;
}

}  // namespace

const HelpPage* find_page(std::string_view word) {
  std::string wanted(word);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const HelpPage& page : help_pages())
    if (page.topic == wanted || std::string(page.topic) + ".md" == wanted || page.path == word ||
        page.topic == wanted + "/readme")
      return &page;
  // A page of a directory by its own name.
  if (!wanted.empty())
    for (const HelpPage& page : help_pages())
      if (page.topic.ends_with("/" + wanted) && wanted != "readme") return &page;
  return nullptr;
}

int print_topic(std::span<const std::string> words) {
  if (words.empty() || answer_usage(words, help_usage, std::cout)) return 0;
  require(words.size() == 1, Error::Kind::config, help_usage);
  if (words[0] == "topics") {
    size_t width = 0;
    for (const HelpPage& page : help_pages()) width = std::max(width, page.topic.size());
    for (const HelpPage& page : help_pages())
      std::cout << page.topic << std::string(width + 2 - page.topic.size(), ' ') << heading_of(page)
                << "\n";
    std::cout << std::flush;
    return 0;
  }
  const HelpPage* page = find_page(words[0]);
  if (page == nullptr) {
    std::vector<std::string> known{"topics"};
    for (const HelpPage& p : help_pages()) known.emplace_back(p.topic);
    throw Error(Error::Kind::config, "there is neither a command nor a page '", words[0], "'",
                did_you_mean(words[0], known),
                ": 'paddle help' lists the commands, 'paddle help topics' the pages");
  }
  std::cout << page->text << std::flush;
  require(static_cast<bool>(std::cout), Error::Kind::io, "cannot write to stdout");
  return 0;
}

}  // namespace paddle
