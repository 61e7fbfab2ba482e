// The examples of docs/layer-examples.md, which the program carries.
#pragma once

#include <string_view>

#include "trainer/trainer.h"

namespace paddle {

// The first row of each layer, in one line, of the blocks of JSON of a page; the first block, the
// inputs of the job, has none.
LayerExamples examples_of(std::string_view page);
LayerExamples layer_examples();

}  // namespace paddle
