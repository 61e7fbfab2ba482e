// Sentences for a terminal, broken between words; and commands for a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paddle {

// How many columns a line of UTF-8 takes.
size_t columns_of(std::string_view line);

// `text` in lines shorter than `columns`, without a newline at its end. Its own newlines stay. What
// follows a break is indented like the line it belongs to, and by `indent` more. A word that is too
// long for a line, such as a path, stays whole.
std::string wrapped(std::string_view text, int columns, size_t indent = 2);

// Text of another process as it may stand in a line of a log or of a terminal: each run of control
// characters, newlines among them, becomes one blank, and none at the end.
std::string one_line(std::string_view text);

// A command that can be copied from the terminal: broken with a backslash between its words.
std::string wrapped_command(const std::vector<std::string>& words, int columns);

// A word for a POSIX shell, in quotes.
std::string shell_word(std::string_view word);

}  // namespace paddle
