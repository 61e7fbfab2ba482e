#include "layers/rows.h"

namespace paddle {
namespace {

Make declare_concat(Arguments& a, const Resolve& at) {
  Refs input;
  int32_t axis = 0;
  a.required("input", input, "what is put together");
  a.optional("axis", axis, "dimension that grows");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {concat(b, resolved(at, input), axis, name)}; };
}

Make declare_split(Arguments& a, const Resolve& at) {
  Ref input;
  Ints num_or_sections, dim{-1};
  a.required("input", input, "what is cut");
  a.required("num_or_sections", num_or_sections, "number of parts, or their lengths");
  a.optional("dim", dim, "dimension that is cut");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    require(dim.size() == 1, Error::Kind::config, "split: 'dim' must be one integer");
    if (num_or_sections.size() == 1)
      return split(b, at(input.name), num_or_sections[0], dim[0], name);
    return split(b, at(input.name), num_or_sections, dim[0], name);
  };
}

Make declare_reshape(Arguments& a, const Resolve& at) {
  Ref input;
  Ints shape;
  std::string act, name;
  a.required("input", input, "what goes in");
  a.required("shape", shape, "0 keeps a length, -1 takes what is left");
  a.optional("act", act, "activation");
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {reshape(b, at(input.name), shape, act, name)}; };
}

// A function of one variable and a required list of integers.
template <std::string (*op)(const Builder&, const std::string&, const Ints&, const std::string&)>
Make declare_with_ints(Arguments& a, const Resolve& at, const char* list, const char* meaning) {
  Ref input;
  Ints values;
  std::string name;
  a.required("input", input, "what goes in");
  a.required(list, values, meaning);
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {op(b, at(input.name), values, name)}; };
}

Make declare_transpose(Arguments& a, const Resolve& at) {
  return declare_with_ints<transpose>(a, at, "perm", "the new order of the dimensions");
}
Make declare_squeeze(Arguments& a, const Resolve& at) {
  return declare_with_ints<squeeze>(a, at, "axes", "dimensions of length 1 that go away");
}
Make declare_unsqueeze(Arguments& a, const Resolve& at) {
  return declare_with_ints<unsqueeze>(a, at, "axes", "where new dimensions of length 1 stand");
}
Make declare_expand(Arguments& a, const Resolve& at) {
  return declare_with_ints<expand>(a, at, "expand_times", "copies along each dimension");
}

Make declare_slice(Arguments& a, const Resolve& at) {
  Ref input;
  Ints axes, starts, ends;
  a.required("input", input, "what goes in");
  a.required("axes", axes, "dimensions that are cut");
  a.required("starts", starts, "first index, per dimension");
  a.required("ends", ends, "index after the last, per dimension");
  return [=](const Builder& b) -> Names { return {slice(b, at(input.name), axes, starts, ends)}; };
}

Make declare_flatten(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t axis = 1;
  a.required("input", input, "what goes in");
  a.optional("axis", axis, "dimensions before it become the rows");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {flatten(b, at(input.name), axis, name)}; };
}

Make declare_stack(Arguments& a, const Resolve& at) {
  Refs input;
  int32_t axis = 0;
  a.required("input", input, "what is put together");
  a.optional("axis", axis, "the new dimension");
  return [=](const Builder& b) -> Names { return {stack(b, resolved(at, input), axis)}; };
}

Make declare_gather(Arguments& a, const Resolve& at) {
  Ref input, index;
  a.required("input", input, "where rows are taken from");
  a.required("index", index, "their numbers");
  return [=](const Builder& b) -> Names { return {gather(b, at(input.name), at(index.name))}; };
}

Make declare_cast(Arguments& a, const Resolve& at) {
  Ref input;
  DType dtype = DType::f32;
  a.required("input", input, "what goes in");
  a.required("dtype", dtype, "the new element type");
  return [=](const Builder& b) -> Names { return {cast(b, at(input.name), dtype)}; };
}

Make declare_assign(Arguments& a, const Resolve& at) {
  Ref input;
  Ref out;
  a.required("input", input, "what is copied");
  declare_out(a, out);
  return [=](const Builder& b) -> Names { return {assign(b, at(input.name), resolved(at, out))}; };
}

Make declare_one_hot(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t depth = 0;
  a.required("input", input, "numbers, [N, 1], int64");
  a.required("depth", depth, "how many there are");
  return [=](const Builder& b) -> Names { return {one_hot(b, at(input.name), depth)}; };
}

Make declare_topk(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t k = 1;
  a.required("input", input, "what goes in");
  a.required("k", k, "how many of each row");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    const TopK r = topk(b, at(input.name), k, name);
    return {r.values, r.indices};
  };
}

template <std::string (*op)(const Builder&, const std::string&, int32_t)>
Make declare_arg(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t axis = 0;
  a.required("input", input, "what goes in");
  a.optional("axis", axis, "dimension that is searched");
  return [=](const Builder& b) -> Names { return {op(b, at(input.name), axis)}; };
}

Make declare_shape(Arguments& a, const Resolve& at) {
  Ref input;
  a.required("input", input, "what is measured");
  return [=](const Builder& b) -> Names { return {shape_of(b, at(input.name))}; };
}

template <std::string (*op)(const Builder&, const std::string&, const std::string&)>
Make declare_sparse(Arguments& a, const Resolve& at) {
  Ref input;
  std::string name;
  a.required("input", input, "a sparse gradient");
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {op(b, at(input.name), name)}; };
}

}  // namespace

std::vector<LayerRow> shape_rows() {
  return {
      {"concat", "puts variables one after the other", declare_concat},
      {"split", "cuts into parts: name, name.1, …", declare_split},
      {"reshape", "other lengths, same elements", declare_reshape},
      {"transpose", "other order of dimensions", declare_transpose},
      {"slice", "a part along some dimensions", declare_slice},
      {"squeeze", "removes dimensions of length 1", declare_squeeze},
      {"unsqueeze", "adds dimensions of length 1", declare_unsqueeze},
      {"flatten", "to a matrix", declare_flatten},
      {"stack", "puts variables along a new dimension", declare_stack},
      {"expand", "repeats", declare_expand},
      {"gather", "rows by number", declare_gather},
      {"cast", "another element type", declare_cast},
      {"assign", "a copy", declare_assign},
      {"one_hot", "a 1 at the place of the number, else 0", declare_one_hot},
      {"topk", "the largest of each row; .1 their places", declare_topk},
      {"argmax", "the place of the largest", declare_arg<argmax>},
      {"argmin", "the place of the smallest", declare_arg<argmin>},
      {"shape", "the lengths, as a tensor of int32", declare_shape},
      {"merge_selected_rows", "repeated rows of a sparse gradient, added up",
       declare_sparse<merge_selected_rows>},
      {"get_tensor_from_selected_rows", "the values of a sparse gradient",
       declare_sparse<get_tensor_from_selected_rows>},
  };
}

}  // namespace paddle
