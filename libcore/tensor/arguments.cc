#include "tensor/arguments.h"

namespace paddle {

void read_value(const Value& v, const std::string& name, DType& place, Mistakes& wrong) {
  std::string type;
  const size_t before = wrong.size();
  read_value(v, name, type, wrong);
  if (wrong.size() > before) return;
  try {
    place = dtype_of(type);
  } catch (const Error& e) {
    wrong.push_back({v.at, text("'", name, "': ", e.what())});
  }
}

void read_value(const Value& v, const std::string& name, Shape& place, Mistakes& wrong) {
  std::vector<int64_t> lengths;
  const size_t before = wrong.size();
  read_value(v, name, lengths, wrong);
  if (wrong.size() > before) return;
  if (lengths.size() > static_cast<size_t>(Shape::max_rank))
    return add_expected("a list of at most 8 lengths", v, name, wrong);
  place = Shape(std::span<const int64_t>(lengths));
}

void describe_type(DType place, Parameter& p) {
  p.type = "element type";
  p.fallback = name_of(place);
}

void describe_type(const Shape&, Parameter& p) {
  p.type = "shape";
  p.fallback = "none";
}

}  // namespace paddle
