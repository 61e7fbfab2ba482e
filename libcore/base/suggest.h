// "Did you mean": the nearest of a list of known names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paddle {

// The known name nearest to `word` by edit distance, or "" where none is near enough to be a guess.
std::string nearest(std::string_view word, std::span<const std::string> known);

// " (did you mean 'x'?)", or "" where nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

// "a; b; c" where `between` is "; ".
std::string joined(std::span<const std::string> words, std::string_view between);

// "a, b and c"
std::string listed(std::span<const std::string> words);

}  // namespace paddle
