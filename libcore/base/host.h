// Names of this machine and of this process, as peers and logs show them.
#pragma once

#include <string>

namespace paddle {

std::string host_name();
// "host:pid"
std::string this_process();

}  // namespace paddle
