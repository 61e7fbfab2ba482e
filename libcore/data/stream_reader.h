// Reading files that do not fit into memory: a window of records at a time, shuffled within the
// window.
#pragma once

#include "data/line_format.h"

namespace paddle {

// `part` is the end of the sentence of Reader::source(). Going to a position reads the files up to
// its window.
std::unique_ptr<Reader> stream_lines(std::unique_ptr<LineFormat> format, const std::string& name,
                                     const LineFiles& files, const ReaderSpec& spec,
                                     const std::string& part);

}  // namespace paddle
