#include "layers/rows.h"

namespace paddle {
namespace {

constexpr std::string_view comparisons[] = {"less_than",     "less_equal", "greater_than",
                                            "greater_equal", "equal",      "not_equal"};
constexpr std::string_view meanings[] = {"x < y", "x <= y", "x > y", "x >= y", "x = y", "x != y"};
constexpr std::string_view logicals[] = {"logical_and", "logical_or", "logical_xor"};

template <size_t i>
Make declare_compare(Arguments& a, const Resolve& at) {
  Ref x, y, out;
  a.required("x", x, "left side");
  a.required("y", y, "right side; may be smaller");
  declare_out(a, out);
  return [=](const Builder& b) -> Names {
    return {compare(b, std::string(comparisons[i]), at(x.name), at(y.name), resolved(at, out))};
  };
}

template <size_t i>
Make declare_logical(Arguments& a, const Resolve& at) {
  Ref x, y, out;
  std::string name;
  a.required("x", x, "left side, of type bool");
  a.required("y", y, "right side, of type bool");
  declare_out(a, out);
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {logical(b, std::string(logicals[i]), at(x.name), at(y.name),
                    {.out = resolved(at, out), .name = name})};
  };
}

Make declare_not(Arguments& a, const Resolve& at) {
  Ref x, out;
  std::string name;
  a.required("x", x, "of type bool");
  declare_out(a, out);
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {logical_not(b, at(x.name), {.out = resolved(at, out), .name = name})};
  };
}

Make declare_isfinite(Arguments& a, const Resolve& at) {
  Refs input;
  a.required("input", input, "what is checked");
  return [=](const Builder& b) -> Names { return {isfinite(b, resolved(at, input))}; };
}

template <size_t... i>
void add_comparisons(std::vector<LayerRow>& rows, std::index_sequence<i...>) {
  (rows.push_back({comparisons[i], meanings[i], declare_compare<i>}), ...);
}

template <size_t... i>
void add_logicals(std::vector<LayerRow>& rows, std::index_sequence<i...>) {
  (rows.push_back({logicals[i], "element by element", declare_logical<i>}), ...);
}

}  // namespace

std::vector<LayerRow> logic_rows() {
  std::vector<LayerRow> rows = {
      {"logical_not", "element by element", declare_not},
      {"isfinite", "whether no element is infinite or NaN", declare_isfinite},
  };
  add_comparisons(rows, std::make_index_sequence<std::size(comparisons)>());
  add_logicals(rows, std::make_index_sequence<std::size(logicals)>());
  return rows;
}

}  // namespace paddle
