#include "paddle/layer_examples.h"

#include <algorithm>
#include <string>

#include "paddle/help_topics.h"

namespace paddle {
namespace {

// Rows begin at the beginning of a line; those that go on below are put together.
void take_block(std::string_view block, LayerExamples& out) {
  constexpr std::string_view begin = "{\"type\": \"";
  std::string row;
  const auto keep = [&] {
    if (row.ends_with(',')) row.pop_back();
    if (row.starts_with(begin))
      out.emplace(row.substr(begin.size(), row.find('"', begin.size()) - begin.size()), row);
    row.clear();
  };
  while (!block.empty()) {
    const std::string_view line = block.substr(0, block.find('\n'));
    block.remove_prefix(std::min(block.size(), line.size() + 1));
    if (line.starts_with('{')) keep();
    row += line;
  }
  keep();
}

}  // namespace

LayerExamples examples_of(std::string_view page) {
  constexpr std::string_view begin = "\n```json\n", end = "\n```\n";
  LayerExamples out;
  for (size_t at = page.find(begin); at != std::string_view::npos; at = page.find(begin, at)) {
    at += begin.size();
    const size_t stop = std::min(page.find(end, at), page.size());
    take_block(page.substr(at, stop - at), out);
    at = stop;
  }
  return out;
}

LayerExamples layer_examples() {
  const HelpPage* page = find_page("layer-examples");
  return page == nullptr ? LayerExamples{} : examples_of(page->text);
}

}  // namespace paddle
