// Runs one op's shape rule and kernel on tensors and selected rows, without a program or a plan:
// the way to give an op a sparse input.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/op_def.h"

namespace paddle::test {

// A dense tensor, or the rows `rows` of a table of `height` rows.
struct Value {
  Tensor tensor;
  std::vector<int64_t> rows = {};
  int64_t height = -1;
  bool is_rows() const { return height >= 0; }

  // The dense tensor it stands for, as double values.
  std::vector<double> dense() const {
    std::vector<double> out;
    with_float(tensor.dtype(), [&](auto t) {
      const auto values = tensor.values<decltype(t)>();
      if (!is_rows()) return out.assign(values.begin(), values.end());
      const auto width = static_cast<size_t>(tensor.shape().product(1, tensor.shape().rank()));
      out.assign(static_cast<size_t>(height) * width, 0.0);
      for (size_t i = 0; i < rows.size(); ++i)
        for (size_t k = 0; k < width; ++k)
          out[static_cast<size_t>(rows[i]) * width + k] += values[i * width + k];
    });
    return out;
  }
};

struct KernelCase {
  std::string type;
  std::vector<std::pair<std::string, std::vector<Value>>> in;
  Attrs attrs = {};
  // Output slot -> the input slot whose memory it shares; other outputs have memory of their own.
  std::map<std::string, std::string> shared = {};
  int threads = 1;
};

namespace detail {
inline Meta meta_of(const Value& v) {
  Meta m{.dtype = v.tensor.dtype(), .shape = v.tensor.shape()};
  if (v.is_rows()) m.kind = VarKind::selected_rows;
  m.height = v.is_rows() ? v.height : 0;
  return m;
}

inline View view_of(Value& v) {
  return {.data = v.tensor.raw(),
          .dtype = v.tensor.dtype(),
          .shape = v.tensor.shape(),
          .rows = v.rows.data(),
          .height = v.height,
          .row_buffer = v.rows.data(),
          .is_rows = v.is_rows()};
}

inline Value value_for(const Meta& m) {
  Value v{.tensor = Tensor(m.dtype, m.shape)};
  if (m.kind != VarKind::selected_rows) return v;
  v.rows.resize(static_cast<size_t>(m.shape[0]));
  v.height = m.height;
  return v;
}
}  // namespace detail

// The outputs by slot: one for every output slot of the definition.
inline std::map<std::string, Value> run_kernel(const KernelCase& c) {
  const OpDef& def = op_def(c.type);
  Op op{.type = c.type, .attrs = c.attrs};
  std::list<Value> values;
  std::map<std::string, Value*> first;
  for (const auto& [slot, list] : c.in) {
    Names names;
    for (const Value& v : list) {
      names.push_back(slot + "_" + std::to_string(names.size()));
      values.push_back({v.tensor.clone(), v.rows, v.height});
      if (names.size() == 1) first[slot] = &values.back();
    }
    op.in.set(slot, names);
  }
  for (const SlotDef& s : def.out) op.out.set(s.name, {s.name});
  conform(op);

  std::list<Meta> metas;
  std::vector<Meta*> in, out;
  for (const Value& v : values) in.push_back(&metas.emplace_back(detail::meta_of(v)));
  for (size_t i = 0; i < def.out.size(); ++i) out.push_back(&metas.emplace_back());
  Infer infer(op, in, out);
  def.infer(infer);

  std::list<View> views;
  std::vector<View*> args;
  std::vector<DType> in_types, out_types;
  std::vector<bool> in_rows;
  for (Value& v : values) {
    args.push_back(&views.emplace_back(detail::view_of(v)));
    in_types.push_back(v.tensor.dtype());
    in_rows.push_back(v.is_rows());
  }
  std::vector<Value> results;
  for (size_t i = 0; i < out.size(); ++i) {
    results.push_back(detail::value_for(*out[i]));
    const auto shared = c.shared.find(def.out[i].name);
    if (shared != c.shared.end()) results.back().tensor = first.at(shared->second)->tensor;
    out_types.push_back(out[i]->dtype);
  }
  for (Value& v : results) args.push_back(&views.emplace_back(detail::view_of(v)));
  const Kernel kernel = def.bind(Bind(op, in_types, out_types, in_rows, 0));
  ThreadPool pool(c.threads);
  Scratch scratch;
  kernel(Run(args.data(), pool, scratch, 0, 0));

  std::map<std::string, Value> by_slot;
  for (size_t i = 0; i < results.size(); ++i) {
    const View& view = *args[values.size() + i];
    if (view.is_rows) results[i].rows.assign(view.rows, view.rows + view.shape[0]);
    by_slot[def.out[i].name] = std::move(results[i]);
  }
  return by_slot;
}

}  // namespace paddle::test
