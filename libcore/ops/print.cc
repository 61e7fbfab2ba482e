// print: passes a tensor on and writes it to stdout, and its gradient where it is asked for.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>

#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct PrintAttrs {
  explicit PrintAttrs(const Bind& b)
      : name(b.attr<bool>("print_tensor_name") ? b.op().in["In"][0] : ""),
        message(b.attr<std::string>("message")),
        shape(b.attr<bool>("print_tensor_shape")),
        type(b.attr<bool>("print_tensor_type")),
        lod(b.attr<bool>("print_tensor_lod")),
        first_n(b.attr<int32_t>("first_n")),
        summarize(b.attr<int32_t>("summarize")) {}
  std::string name, message;
  bool shape, type, lod;
  int64_t first_n, summarize;  // below 0 (first_n: also 0): no limit
};

bool prints(const Bind& b) {
  const auto phase = b.attr<std::string>("print_phase");
  return phase == "BOTH" || phase == (b.attr<bool>("is_forward") ? "FORWARD" : "BACKWARD");
}

// The element as users read it: a number, also of a bool or of a byte.
std::string element_text(const Run& r, const View& v, int64_t k) {
  return with_dtype(v.dtype,
                    [&](auto t) { return text(+read_one(r, v.as<const decltype(t)>() + k)); });
}

std::string print_text(const Run& r, const PrintAttrs& a, const View& v) {
  std::string out = a.message.empty() ? "" : a.message + "\n";
  out += a.name.empty() ? "Tensor\n" : text("Tensor[", a.name, "]\n");
  if (a.shape) out += text("\tshape: ", v.shape, "\n");
  if (a.type) out += text("\tdtype: ", name_of(v.dtype), "\n");
  if (a.lod && v.lod != nullptr) {
    out += "\tLoD: ";
    for (const auto& level : *v.lod) {
      out += "[";
      for (size_t i = 0; i < level.size(); ++i) out += text(i == 0 ? "" : ", ", level[i]);
      out += "]";
    }
    out += "\n";
  }
  const int64_t all = v.numel(), n = a.summarize < 0 ? all : std::min(all, a.summarize);
  out += "\tdata: ";
  for (int64_t k = 0; k < n; ++k) out += (k == 0 ? "" : ", ") + element_text(r, v, k);
  return out + (n < all ? ", ...\n" : "\n");
}

Kernel bind_print(const Bind& b) {
  const Arg in = b.in("In"), out = b.out("Out");
  const auto printed = std::make_shared<std::atomic<int64_t>>(0);  // by all copies of the kernel
  return [=, attrs = PrintAttrs(b), on = prints(b)](const Run& r) {
    if (out) copy_elements(r, r[in].numel(), size_of(r[in].dtype), r[out].data, r[in].data);
    if (!on || (attrs.first_n > 0 && printed->fetch_add(1) >= attrs.first_n)) return;
    std::cout << print_text(r, attrs, r[in]) << std::flush;
  };
}

void infer_print(Infer& i) {
  i.check(i.in("In").kind != VarKind::selected_rows, "In (", i.op().in["In"][0],
          ") holds selected rows, which cannot be printed");
  const auto phase = i.attr<std::string>("print_phase");
  i.check(phase == "FORWARD" || phase == "BACKWARD" || phase == "BOTH",
          "print_phase must be FORWARD, BACKWARD or BOTH, found '", phase, "'");
  i.out_like("Out", "In");
}

std::vector<Op> print_grad(const Op& forward, const Want& want) {
  const std::string& in = forward.in["In"][0];
  if (!want(in)) return {};
  Op op{.type = "print",
        .in = {{"In", {grad_name(forward.out["Out"][0])}}},
        .out = {{"Out", {grad_name(in)}}},
        .attrs = forward.attrs};
  op.attrs.set("is_forward", false);
  return {op};
}

}  // namespace

std::vector<OpDef> print_ops() {
  return {{.type = "print",
           .in = {{"In"}},
           .out = {{"Out", SlotDef::optional}},
           .attrs = {{"first_n", -1},
                     {"message", std::string()},
                     {"summarize", 20},
                     {"print_tensor_name", true},
                     {"print_tensor_type", true},
                     {"print_tensor_shape", true},
                     {"print_tensor_lod", true},
                     {"print_phase", std::string("BOTH")},
                     {"is_forward", true}},
           .infer = infer_print,
           .bind = bind_print,
           .make_grad = print_grad,
           .inplace = {{"In", "Out"}},
           .has_effect = true}};
}

}  // namespace paddle
