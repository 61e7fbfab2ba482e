// What there is to know about an optimizer besides its arithmetic: one row of rule.cc. The op
// (slots and attributes), the job-file keys with their defaults and help, the variables of its
// state and the pservers' way to cut it all follow from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace paddle::optim {

using Number = std::variant<float, bool>;

// An array as large as the parameter.
struct State {
  std::string in, out;         // the op's slots
  std::string name;            // of its variable: "moment1" makes "fc_0.w_0_moment1_0"
  bool optional = false;       // the op works without it
  std::string first_key = {};  // the job-file key that sets its first value; "" = it starts at 0
};

// A number that the op reads each time: a setting to the power of the step, counted from 1. It is
// multiplied by the setting after the updates.
struct Power {
  std::string slot;     // "Beta1Pow"
  std::string name;     // of its variable: "beta1_pow_acc" makes "fc_0.w_0_beta1_pow_acc_0"
  std::string setting;  // "beta1"
};

// A number that is set once, by the op's attribute.
struct Setting {
  std::string name;                        // of the attribute
  Number fallback;                         // the attribute's default
  std::string meaning;                     // for the user, of the job-file key
  bool required = false;                   // the attribute has no default
  std::string key = {};                    // in job files; "" = the attribute's name
  std::optional<Number> key_default = {};  // none = the attribute's default

  const std::string& job_key() const { return key.empty() ? name : key; }
  const Number& job_default() const { return key_default ? *key_default : fallback; }
};

// A key that sets no attribute but the first value of a state.
struct FirstValue {
  std::string key, meaning;
  float fallback = 0;
};

struct Description {
  std::string type;                // of the op, and in job files: "adam"
  std::string meaning;             // one line for the user
  std::vector<State> states = {};  // in the order of the functor's arguments
  std::vector<Power> powers = {};
  std::vector<Setting> settings = {};
  std::vector<FirstValue> first_values = {};
  float learning_rate = 0;  // the default; 0 = the user must give one
  bool takes_rate = true;   // false: the rule has no learning rate
  // Every element is updated from its own gradient and state alone, so that pservers may update
  // slices of a parameter; false keeps parameters whole.
  bool elementwise = true;
  std::vector<std::string> inputs =
      {};  // one-element inputs: LearningRate if it takes one, the powers
};

// All of them, in the order of the documentation.
const std::vector<const Description*>& descriptions();
// That of a type, or null.
const Description* find_description(std::string_view type);

}  // namespace paddle::optim
