// Layers that change shapes, order and types.
#include "layers/layers.h"

namespace paddle {
namespace {

// An op whose gradient only needs the input's shape, kept in XShape.
std::string with_xshape(const Builder& b, const Layer& layer, const std::string& type,
                        const std::string& x, Attrs attrs) {
  const std::string out = layer.tmp(), xshape = layer.tmp();
  b.op({.type = type,
        .in = {{"X", {x}}},
        .out = {{"Out", {out}}, {"XShape", {xshape}}},
        .attrs = std::move(attrs)});
  return out;
}

Names split_into(const Builder& b, const std::string& input, size_t count, Attrs attrs,
                 const std::string& name) {
  const Layer layer(b, "split", name);
  Names outs;
  for (size_t i = 0; i < count; ++i) outs.push_back(layer.tmp());
  b.op(
      {.type = "split", .in = {{"X", {input}}}, .out = {{"Out", outs}}, .attrs = std::move(attrs)});
  return outs;
}

int32_t from_front(const Builder& b, const std::string& x, int32_t dim) {
  const int rank = b.var(x).shape.rank();
  require(dim >= -rank && dim < rank, Error::Kind::config, "split of '", x, "': dim ", dim,
          " is outside of the shape ", b.var(x).shape);
  return dim < 0 ? dim + rank : dim;
}

}  // namespace

std::string concat(const Builder& b, const Inputs& input, int32_t axis, const std::string& name) {
  return Layer(b, "concat", name).op("concat", {{"X", input.names}}, {{"axis", axis}});
}

Names split(const Builder& b, const std::string& input, int32_t num, int32_t dim,
            const std::string& name) {
  require(num > 0, Error::Kind::config, "split of '", input, "' into ", num,
          " parts: the number must be positive");
  return split_into(b, input, static_cast<size_t>(num),
                    {{"num", num}, {"sections", Ints{}}, {"axis", from_front(b, input, dim)}},
                    name);
}

Names split(const Builder& b, const std::string& input, const Ints& sections, int32_t dim,
            const std::string& name) {
  require(!sections.empty(), Error::Kind::config, "split of '", input,
          "' needs the lengths of its parts");
  return split_into(b, input, sections.size(),
                    {{"num", 0}, {"sections", sections}, {"axis", from_front(b, input, dim)}},
                    name);
}

std::string reshape(const Builder& b, const std::string& x, const Ints& shape,
                    const std::string& act, const std::string& name) {
  const Layer layer(b, "reshape2", name);
  return layer.activate(with_xshape(b, layer, "reshape2", x, {{"shape", shape}}), act);
}

std::string transpose(const Builder& b, const std::string& x, const Ints& perm,
                      const std::string& name) {
  return with_xshape(b, Layer(b, "transpose", name), "transpose2", x, {{"axis", perm}});
}

std::string slice(const Builder& b, const std::string& input, const Ints& axes, const Ints& starts,
                  const Ints& ends) {
  return Layer(b, "slice")
      .op("slice", {{"Input", {input}}}, {{"axes", axes}, {"starts", starts}, {"ends", ends}});
}

std::string squeeze(const Builder& b, const std::string& input, const Ints& axes,
                    const std::string& name) {
  return with_xshape(b, Layer(b, "squeeze", name), "squeeze2", input, {{"axes", axes}});
}

std::string unsqueeze(const Builder& b, const std::string& input, const Ints& axes,
                      const std::string& name) {
  return with_xshape(b, Layer(b, "unsqueeze", name), "unsqueeze2", input, {{"axes", axes}});
}

std::string flatten(const Builder& b, const std::string& x, int32_t axis, const std::string& name) {
  return with_xshape(b, Layer(b, "flatten", name), "flatten2", x, {{"axis", axis}});
}

std::string stack(const Builder& b, const Inputs& x, int32_t axis) {
  return Layer(b, "stack").op("stack", {{"X", x.names}}, {{"axis", axis}}, "Y");
}

std::string expand(const Builder& b, const std::string& x, const Ints& expand_times,
                   const std::string& name) {
  return unary(b, "expand", x, {{"expand_times", expand_times}}, name);
}

std::string gather(const Builder& b, const std::string& input, const std::string& index) {
  return Layer(b, "gather").op("gather", {{"X", {input}}, {"Index", {index}}});
}

std::string cast(const Builder& b, const std::string& x, DType dtype) {
  return unary(b, "cast", x,
               {{"in_dtype", dtype_number(b.var(x).dtype)}, {"out_dtype", dtype_number(dtype)}});
}

std::string assign(const Builder& b, const std::string& input, const std::string& output) {
  if (output.empty()) return unary(b, "assign", input);
  b.op({.type = "assign", .in = {{"X", {input}}}, .out = {{"Out", {output}}}});
  return output;
}

std::string one_hot(const Builder& b, const std::string& input, int32_t depth) {
  return unary(b, "one_hot", input, {{"depth", depth}});
}

std::string shape_of(const Builder& b, const std::string& input) {
  const std::string out = Layer(b, "shape").op("shape", {{"Input", {input}}});
  b.var(out).stop_gradient = true;
  return out;
}

std::string merge_selected_rows(const Builder& b, const std::string& x, const std::string& name) {
  return unary(b, "merge_selected_rows", x, {}, name);
}

std::string get_tensor_from_selected_rows(const Builder& b, const std::string& x,
                                          const std::string& name) {
  return unary(b, "get_tensor_from_selected_rows", x, {}, name);
}

TopK topk(const Builder& b, const std::string& input, int32_t k, const std::string& name) {
  const Layer layer(b, "top_k", name);
  TopK r{.values = layer.tmp(), .indices = layer.tmp()};
  b.op({.type = "top_k",
        .in = {{"X", {input}}},
        .out = {{"Out", {r.values}}, {"Indices", {r.indices}}},
        .attrs = {{"k", k}}});
  b.var(r.values).stop_gradient = b.var(r.indices).stop_gradient = true;
  return r;
}

std::string argmax(const Builder& b, const std::string& x, int32_t axis) {
  return unary(b, "arg_max", x, {{"axis", int64_t{axis}}});
}

std::string argmin(const Builder& b, const std::string& x, int32_t axis) {
  return unary(b, "arg_min", x, {{"axis", int64_t{axis}}});
}

}  // namespace paddle
