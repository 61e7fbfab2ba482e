#include "obs/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace paddle {
namespace {

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

// Cells of dots: 2 x 4 in a braille letter, one in an ASCII one.
class Canvas {
 public:
  Canvas(int width, int height, bool unicode)
      : width_(width),
        height_(height),
        unicode_(unicode),
        cells_(static_cast<size_t>(width) * static_cast<size_t>(height)) {}

  int dots_across() const { return width_ * (unicode_ ? 2 : 1); }
  int dots_down() const { return height_ * (unicode_ ? 4 : 1); }

  void set(int x, int y) {
    // Braille numbers its dots down the left column, then the right one; the lowest row came later.
    static constexpr uint8_t bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int column = unicode_ ? x / 2 : x, row = unicode_ ? y / 4 : y;
    cells_[static_cast<size_t>(row * width_ + column)] |= unicode_ ? bit[y % 4][x % 2] : 1;
  }

  void line(int x0, int y0, int x1, int y1) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) set(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
  }

  std::string row(int index) const {
    std::string out;
    for (int column = 0; column < width_; ++column) {
      const uint8_t dots = cells_[static_cast<size_t>(index * width_ + column)];
      if (dots == 0)
        out += ' ';
      else if (!unicode_)
        out += '*';
      else
        out +=
            {'\xE2', static_cast<char>(0xA0 | dots >> 6), static_cast<char>(0x80 | (dots & 0x3F))};
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

 private:
  int width_, height_;
  bool unicode_;
  std::vector<uint8_t> cells_;
};

struct Scale {
  double low, high;
  bool logarithmic;

  double at(double value) const {  // 0 at the foot, 1 at the top
    if (high == low) return 0.5;
    return logarithmic ? std::log(value / low) / std::log(high / low)
                       : (value - low) / (high - low);
  }
  double label(double part) const {
    return logarithmic ? low * std::pow(high / low, part) : low + (high - low) * part;
  }
};

Scale scale_of(std::span<const double> values, bool logarithmic) {
  Scale scale{INFINITY, -INFINITY, logarithmic};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    scale.low = std::min(scale.low, value);
    scale.high = std::max(scale.high, value);
  }
  if (!(scale.low > 0)) scale.logarithmic = false;
  return scale;
}

void draw(Canvas& canvas, std::span<const double> values, const Scale& scale) {
  const int across = canvas.dots_across() - 1, down = canvas.dots_down() - 1;
  bool joined = false;
  int last_x = 0, last_y = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      joined = false;  // a gap
      continue;
    }
    const double part =
        values.size() == 1 ? 0 : static_cast<double>(i) / static_cast<double>(values.size() - 1);
    const int x = static_cast<int>(std::lround(part * across));
    const int y = down - static_cast<int>(std::lround(scale.at(values[i]) * down));
    canvas.line(joined ? last_x : x, joined ? last_y : y, x, y);
    last_x = x;
    last_y = y;
    joined = true;
  }
}

std::string right_aligned(const std::string& word, size_t width) {
  return std::string(width > word.size() ? width - word.size() : 0, ' ') + word;
}

std::string horizontal_axis(const PlotOptions& options, size_t values, size_t margin,
                            size_t width) {
  const bool given = options.x_first != 0 || options.x_last != 0;
  const std::string first = number(given ? options.x_first : 1);
  const std::string last = number(given ? options.x_last : static_cast<double>(values));
  std::string rule = options.unicode ? "└" : "+";
  for (size_t i = 0; i < width; ++i) rule += options.unicode ? "─" : "-";
  std::string labels = first;
  const size_t used = first.size() + last.size() + options.x_label.size();
  const size_t blanks = width > used ? width - used : 2;
  labels +=
      std::string(blanks / 2, ' ') + options.x_label + std::string(blanks - blanks / 2, ' ') + last;
  return std::string(margin, ' ') + rule + "\n" + std::string(margin + 1, ' ') + labels + "\n";
}

}  // namespace

std::string plot(std::span<const double> values, const PlotOptions& options) {
  std::string out = options.title.empty() ? "" : options.title + "\n";
  const Scale scale = scale_of(values, options.logarithmic);
  if (!(scale.low <= scale.high)) return out + "(no finite value to draw)\n";
  const int height = std::max(options.height, 3);
  std::vector<std::string> labels(static_cast<size_t>(height));
  for (const int row : {0, height / 2, height - 1}) {
    if (scale.low == scale.high && row != height / 2) continue;
    labels[static_cast<size_t>(row)] =
        number(scale.label(1 - static_cast<double>(row) / (height - 1)));
  }
  size_t margin = 0;
  for (const std::string& label : labels) margin = std::max(margin, label.size());
  const int width = std::max(options.width - static_cast<int>(margin) - 2, 8);
  Canvas canvas(width, height, options.unicode);
  draw(canvas, values, scale);
  for (int row = 0; row < height; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    const char* axis = options.unicode ? (label.empty() ? "│" : "┤") : (label.empty() ? "|" : "+");
    out += right_aligned(label, margin) + " " + axis + canvas.row(row) + "\n";
  }
  return out + horizontal_axis(options, values.size(), margin + 1, static_cast<size_t>(width));
}

}  // namespace paddle
