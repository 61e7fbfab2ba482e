// `paddle version`, which also goes into the file `done` of a saved model.
#pragma once

#include <string>

namespace paddle {

// "PaddlePaddle <version>, compiled with" and one line `    with_<x>: ON|OFF` for each feature;
// ends with a newline.
std::string version_block();
// "0.1.0"
std::string version_text();

}  // namespace paddle
