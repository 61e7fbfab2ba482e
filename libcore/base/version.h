// `paddle version`, which also goes into the file `done` of a saved model.
#pragma once

#include <string>

namespace paddle {

// "PaddlePaddle <version>, compiled with" and one line `    with_<x>: ON|OFF` for each feature;
// ends with a newline. GPUs are a module that a program loads: whoever can look for it says whether
// it is there.
std::string version_block(bool with_gpu = false);
// "0.1.0"
std::string version_text();

}  // namespace paddle
