// A curve drawn with letters, for the end of a training in a terminal.
#pragma once

#include <span>
#include <string>

namespace paddle {

struct PlotOptions {
  std::string title;    // above the curve
  std::string x_label;  // below it: "pass"
  double x_first = 0,
         x_last = 0;  // the ends of the horizontal axis; both 0: 1 and the number of values
  int width = 72, height = 12;  // of the whole drawing without title and horizontal axis
  bool unicode = true;          // braille dots; else ASCII
  bool logarithmic = false;     // vertical axis; only where every value is positive
};

// Lines that each end with a newline. Values that are not finite are left out; without any other
// the text says so.
std::string plot(std::span<const double> values, const PlotOptions& options);

}  // namespace paddle
