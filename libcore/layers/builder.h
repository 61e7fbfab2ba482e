// Where layers put what they make: the main program, the startup program (which gives parameters
// their first values), and the maker of names. Layers take and return names of variables of the
// main program; builder.var(name) gives what is known of one.
#pragma once

#include <string>
#include <string_view>

#include "graph/program.h"
#include "layers/param_attr.h"

namespace paddle {

// Two programs that belong together, and the names in them.
struct Net {
  Program main, startup;
  NameMaker names;
};

// A view: it must not outlive the programs it was given.
class Builder {
 public:
  Builder(Program& main, Program& startup, NameMaker& names)
      : main_(main), startup_(startup), names_(names) {}
  explicit Builder(Net& net) : Builder(net.main, net.startup, net.names) {}

  Program& main() const { return main_; }
  Program& startup() const { return startup_; }
  NameMaker& names() const { return names_; }

  Block& block() const { return main_.global(); }
  // The variable; throws Error(config) with a suggestion where there is none.
  Var& var(std::string_view name) const { return block().var(name); }
  // The next name of `key` that no variable of the main program has. The maker of names alone does
  // not know: a script may build parts of one program with several makers (unique_name.guard).
  std::string new_name(std::string_view key) const;
  // Appends to the main program.
  Op& op(Op op) const { return block().append(std::move(op)); }

  // A variable of both programs that lives from run to run, with its first value. Without a name it
  // gets "_generated_var_N". One that exists already must agree, and is left as it is.
  std::string global_var(Var v, const Initializer& first) const;
  // The same for a parameter.
  std::string parameter(const std::string& name, const ParamAttr& attr, const Shape& shape,
                        DType dtype, const Initializer& first) const;

 private:
  Program& main_;
  Program& startup_;
  NameMaker& names_;
};

// Adds the op that gives `var` of the startup program its first value, in front of all others as
// saved startup programs have them.
void initialize(Program& startup, const Var& var, const Initializer& how);

// The shape as an attribute.
inline Longs longs(const Shape& shape) { return Longs(shape.begin(), shape.end()); }
inline Attr dtype_number(DType t) { return static_cast<int32_t>(t); }

// One layer under construction: its name ("fc_0"), and the names made of it.
class Layer {
 public:
  // `name` is the user's; "" = the type with a number.
  Layer(const Builder& b, std::string_view type, const std::string& name = "")
      : b_(b), name_(name.empty() ? b.names().next(type) : name) {}

  const Builder& builder() const { return b_; }
  const std::string& name() const { return name_; }
  // A new temporary: "fc_0.tmp_1".
  std::string tmp() const { return b_.new_name(name_ + ".tmp"); }
  // "fc_0.w_0"; the default first value is Xavier's.
  std::string weight(const ParamAttr& attr, const Shape& shape, DType dtype,
                     const Initializer& first = init::Xavier{}) const;
  // "fc_0.b_0"; the default first value is 0.
  std::string bias(const ParamAttr& attr, const Shape& shape, DType dtype,
                   const Initializer& first = init::Constant{}) const;
  // Appends an op with one output in slot `out`, a new temporary, and returns it.
  std::string op(std::string_view type, Slots in, Attrs attrs = {},
                 std::string_view out = "Out") const;
  // x plus a bias over dimensions [from, to) of x; x itself where the attribute is none().
  std::string add_bias(const std::string& x, const ParamAttr& attr, int from, int to) const;
  // act(x); x itself where act is "".
  std::string activate(const std::string& x, const std::string& act) const;

 private:
  const Builder& b_;
  std::string name_;
};

}  // namespace paddle
