#include "layers/rows.h"

namespace paddle {
namespace {

template <std::string (*op)(const Builder&, const std::string&, const std::string&,
                            const ElementwiseOptions&)>
Make declare_elementwise(Arguments& a, const Resolve& at) {
  Ref x, y;
  ElementwiseOptions o;
  a.required("x", x, "left side");
  a.required("y", y, "right side; may be smaller");
  a.optional("axis", o.axis, "dimension of x where y begins; -1 = at the end");
  a.optional("act", o.act, "activation");
  declare_name(a, o.name);
  return [=](const Builder& b) -> Names { return {op(b, at(x.name), at(y.name), o)}; };
}

template <std::string (*op)(const Builder&, const std::string&, const ReduceOptions&)>
Make declare_reduce(Arguments& a, const Resolve& at) {
  Ref input;
  ReduceOptions o;
  a.required("input", input, "what goes in");
  a.optional("dim", o.dim, "dimensions that go away; none = all");
  a.optional("keep_dim", o.keep_dim, "keep them with length 1");
  declare_name(a, o.name);
  return [=](const Builder& b) -> Names { return {op(b, at(input.name), o)}; };
}

Make declare_matmul(Arguments& a, const Resolve& at) {
  Ref x, y;
  MatmulOptions o;
  a.required("x", x, "left side");
  a.required("y", y, "right side");
  a.optional("transpose_x", o.transpose_x, "swap the last two dimensions of x");
  a.optional("transpose_y", o.transpose_y, "swap the last two dimensions of y");
  a.optional("alpha", o.alpha, "factor on the result");
  declare_name(a, o.name);
  return [=](const Builder& b) -> Names { return {matmul(b, at(x.name), at(y.name), o)}; };
}

Make declare_mul(Arguments& a, const Resolve& at) {
  Ref x, y;
  MulOptions o;
  a.required("x", x, "left side");
  a.required("y", y, "right side");
  a.optional("x_num_col_dims", o.x_num_col_dims, "leading dimensions of x that are its rows");
  a.optional("y_num_col_dims", o.y_num_col_dims, "leading dimensions of y that are its rows");
  declare_name(a, o.name);
  return [=](const Builder& b) -> Names { return {mul(b, at(x.name), at(y.name), o)}; };
}

Make declare_scale(Arguments& a, const Resolve& at) {
  Ref input;
  ScaleOptions o;
  a.required("input", input, "what goes in");
  a.optional("scale", o.scale, "factor");
  a.optional("bias", o.bias, "term");
  a.optional("bias_after_scale", o.bias_after_scale, "multiply first");
  a.optional("act", o.act, "activation");
  declare_name(a, o.name);
  return [=](const Builder& b) -> Names { return {scale(b, at(input.name), o)}; };
}

Make declare_clip(Arguments& a, const Resolve& at) {
  Ref input;
  float min = 0, max = 0;
  a.required("input", input, "what goes in");
  a.required("min", min, "smallest value");
  a.required("max", max, "largest value");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {clip(b, at(input.name), min, max, name)}; };
}

Make declare_clip_by_norm(Arguments& a, const Resolve& at) {
  Ref input;
  float max_norm = 0;
  a.required("input", input, "what goes in");
  a.required("max_norm", max_norm, "largest norm");
  std::string name;
  declare_name(a, name);
  return
      [=](const Builder& b) -> Names { return {clip_by_norm(b, at(input.name), max_norm, name)}; };
}

Make declare_sum(Arguments& a, const Resolve& at) {
  Refs input;
  a.required("input", input, "what is added up");
  return [=](const Builder& b) -> Names { return {sum(b, resolved(at, input))}; };
}

Make declare_sums(Arguments& a, const Resolve& at) {
  Refs input;
  Ref out;
  a.required("input", input, "what is added up");
  declare_out(a, out);
  return
      [=](const Builder& b) -> Names { return {sums(b, resolved(at, input), resolved(at, out))}; };
}

Make declare_softmax(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t axis = -1;
  std::string name;
  a.required("input", input, "what goes in");
  a.optional("axis", axis, "dimension that sums to 1");
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {softmax(b, at(input.name), axis, name)}; };
}

// An activation with one number: its name and default are the op's own.
struct OneNumber {
  const char* type;
  const char* parameter;
  float fallback;
};
constexpr OneNumber one_number[] = {{"leaky_relu", "alpha", 0.02f}, {"elu", "alpha", 1},
                                    {"relu6", "threshold", 6},      {"pow", "factor", 1},
                                    {"swish", "beta", 1},           {"soft_relu", "threshold", 40}};

template <size_t i>
Make declare_one_number(Arguments& a, const Resolve& at) {
  Ref input;
  float number = one_number[i].fallback;
  a.required("input", input, "what goes in");
  a.optional(one_number[i].parameter, number, "the function's parameter");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {
        unary(b, one_number[i].type, at(input.name), {{one_number[i].parameter, number}}, name)};
  };
}

template <size_t... i>
void add_one_number(std::vector<LayerRow>& rows, std::index_sequence<i...>) {
  (rows.push_back({one_number[i].type, "element by element", declare_one_number<i>}), ...);
}

template <size_t i>
Make declare_plain(Arguments& a, const Resolve& at) {
  Ref input;
  a.required("input", input, "what goes in");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {unary(b, plain_activations[i], at(input.name), {}, name)};
  };
}

template <size_t... i>
void add_plain(std::vector<LayerRow>& rows, std::index_sequence<i...>) {
  (rows.push_back({plain_activations[i], "element by element", declare_plain<i>}), ...);
}

// An activation with two numbers.
struct TwoNumbers {
  const char* type;
  const char* meaning;
  const char* first;
  float first_fallback;
  const char* second;
  float second_fallback;
};
constexpr TwoNumbers two_numbers[] = {
    {"hard_sigmoid", "a sigmoid of straight lines", "slope", 0.2f, "offset", 0.5f},
    {"brelu", "the line between two limits", "t_min", 0, "t_max", 24},
    {"stanh", "scale_b * tanh(scale_a * x)", "scale_a", 2.0f / 3.0f, "scale_b", 1.7159f}};

template <size_t i>
Make declare_two_numbers(Arguments& a, const Resolve& at) {
  constexpr TwoNumbers t = two_numbers[i];
  Ref input;
  float first = t.first_fallback, second = t.second_fallback;
  std::string name;
  a.required("input", input, "what goes in");
  a.optional(t.first, first, "the function's first parameter");
  a.optional(t.second, second, "its second one");
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {unary(b, t.type, at(input.name), {{t.first, first}, {t.second, second}}, name)};
  };
}

template <size_t... i>
void add_two_numbers(std::vector<LayerRow>& rows, std::index_sequence<i...>) {
  (rows.push_back({two_numbers[i].type, two_numbers[i].meaning, declare_two_numbers<i>}), ...);
}

}  // namespace

std::vector<LayerRow> math_rows() {
  std::vector<LayerRow> rows = {
      {"elementwise_add", "x + y", declare_elementwise<elementwise_add>},
      {"elementwise_sub", "x - y", declare_elementwise<elementwise_sub>},
      {"elementwise_mul", "x * y", declare_elementwise<elementwise_mul>},
      {"elementwise_div", "x / y", declare_elementwise<elementwise_div>},
      {"elementwise_max", "the larger of x and y", declare_elementwise<elementwise_max>},
      {"elementwise_min", "the smaller of x and y", declare_elementwise<elementwise_min>},
      {"elementwise_pow", "x ^ y", declare_elementwise<elementwise_pow>},
      {"elementwise_mod", "the rest of x / y", declare_elementwise<elementwise_mod>},
      {"elementwise_floordiv", "x / y, without the rest",
       declare_elementwise<elementwise_floordiv>},
      {"reduce_sum", "sum over dimensions", declare_reduce<reduce_sum>},
      {"reduce_mean", "mean over dimensions", declare_reduce<reduce_mean>},
      {"reduce_max", "largest over dimensions", declare_reduce<reduce_max>},
      {"reduce_min", "smallest over dimensions", declare_reduce<reduce_min>},
      {"reduce_prod", "product over dimensions", declare_reduce<reduce_prod>},
      {"matmul", "product of (stacks of) matrices", declare_matmul},
      {"mul", "product of two matrices", declare_mul},
      {"scale", "input * scale + bias", declare_scale},
      {"clip", "limits each element", declare_clip},
      {"clip_by_norm", "scales down to a largest norm", declare_clip_by_norm},
      {"sum", "adds up several variables", declare_sum},
      {"sums", "the same, into a given variable", declare_sums},
      {"softmax", "e^x / sum of e^x", declare_softmax},
  };
  add_two_numbers(rows, std::make_index_sequence<std::size(two_numbers)>());
  add_one_number(rows, std::make_index_sequence<std::size(one_number)>());
  add_plain(rows, std::make_index_sequence<std::size(plain_activations)>());
  return rows;
}

}  // namespace paddle
