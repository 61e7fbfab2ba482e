// This machine and this process: their names, as peers and logs show them, and limits.
#pragma once

#include <string>

namespace paddle {

std::string host_name();
// "host:pid"
std::string this_process();

// Raises the soft limit of open files to the hard one. The usual soft limit of 1024 ends a
// pserver's port at 500 trainers, as each has two connections to it.
void raise_file_limit();

}  // namespace paddle
