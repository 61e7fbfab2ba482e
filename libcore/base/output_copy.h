// What a process prints, in a file as well: for processes that nobody starts who would keep it.
#pragma once

#include <cstdint>
#include <string>

namespace paddle {

// From here on everything that goes to stdout and stderr, whoever writes it, goes to the end of the
// file `path` too, but for what a terminal shows. A process of its own copies it: it lasts until
// this one has ended, however that happens, and exit() waits for it. A file of more than
// `max_bytes` is renamed to `path`.1. To be called before there are threads. Throws Error(io).
// Its name, by which it is known from a process of the job: its command line is that of this one.
inline constexpr const char* output_copier = "paddle-output";
void copy_output(const std::string& path, uint64_t max_bytes);

}  // namespace paddle
