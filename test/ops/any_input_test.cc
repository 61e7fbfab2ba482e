// Every op with whatever inputs: it computes or refuses them with an Error, and does no harm. Under
// a sanitizer this finds kernels that trust a shape, an index or an attribute.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/random.h"
#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;

namespace any_input_test {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  // A number from 0 to n - 1.
  size_t roll(size_t n) { return mix64(++state_) % n; }
  bool chance(double p) { return static_cast<double>(roll(1000)) < 1000 * p; }
  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[roll(list.size())];
  }

 private:
  uint64_t state_;
};

Shape any_shape(Dice& dice) {
  Shape shape;
  const size_t rank = dice.of<size_t>({0, 1, 2, 2, 2, 3, 4, 4});
  for (size_t i = 0; i < rank; ++i) shape.append(dice.of<int64_t>({0, 1, 2, 3, 4, 5}));
  return shape;
}

// Offsets of sequences over `rows` rows, some of them empty.
std::vector<size_t> any_offsets(Dice& dice, size_t rows) {
  std::vector<size_t> offsets{0};
  while (offsets.back() < rows) offsets.push_back(std::min(rows, offsets.back() + dice.roll(3)));
  if (dice.chance(0.3)) offsets.push_back(rows);
  return offsets;
}

Tensor any_tensor(Dice& dice, const Shape& shape, DType dtype) {
  Tensor t = random_tensor(dtype, shape, dice.roll(1000), -2, 5);
  if (shape.rank() > 0 && dice.chance(0.3))
    t.set_lod({any_offsets(dice, static_cast<size_t>(shape[0]))});
  return t;
}

int64_t any_number(Dice& dice) { return dice.of<int64_t>({-3, -1, 0, 1, 2, 3, 7}); }

template <class T>
void change_list(Dice& dice, std::vector<T>& list) {
  if (dice.chance(0.3)) list.resize(dice.roll(4));
  for (T& v : list)
    if (dice.chance(0.5)) v = static_cast<T>(any_number(dice));
}

void change(Dice& dice, Attr& attr) {
  if (auto* b = std::get_if<bool>(&attr)) *b = !*b;
  if (auto* i = std::get_if<int32_t>(&attr)) *i = static_cast<int32_t>(any_number(dice));
  if (auto* l = std::get_if<int64_t>(&attr)) *l = any_number(dice);
  if (auto* f = std::get_if<float>(&attr)) *f = static_cast<float>(any_number(dice)) / 2;
  if (auto* l = std::get_if<Ints>(&attr)) change_list(dice, *l);
  if (auto* l = std::get_if<Longs>(&attr)) change_list(dice, *l);
  if (auto* l = std::get_if<Floats>(&attr)) change_list(dice, *l);
}

OpCase any_case(Dice& dice, const OpDef& def) {
  OpCase c{.type = def.type};
  const Shape common = any_shape(dice);
  const DType number = dice.of({DType::f32, DType::f64});
  const double same = dice.of({0.3, 0.7, 0.95});
  for (const SlotDef& slot : def.in) {
    if ((slot.flags & SlotDef::optional) != 0 && dice.chance(0.4)) continue;
    std::vector<Tensor> tensors;
    const size_t count = (slot.flags & SlotDef::many) != 0 ? 1 + dice.roll(3) : 1;
    const bool whole = slot.name == "Ids" || slot.name == "Label" || slot.name == "Index" ||
                       slot.name == "Indices";
    for (size_t i = 0; i < count; ++i) {
      const DType dtype = dice.chance(0.05) ? dice.of({DType::i32, DType::u8, DType::boolean})
                          : whole           ? DType::i64
                                            : number;
      Shape shape = dice.chance(same) ? common : any_shape(dice);
      if (whole && shape.rank() > 0 && dice.chance(0.7)) shape[shape.rank() - 1] = 1;
      if (slot.name == "LearningRate" && dice.chance(0.9)) shape = Shape{1};
      tensors.push_back(any_tensor(dice, shape, dtype));
    }
    c.in.emplace_back(slot.name, std::move(tensors));
  }
  for (auto [name, value] : def.attrs) {
    if (dice.chance(0.25)) change(dice, value);
    c.attrs.set(name, value);
  }
  for (const SlotDef& slot : def.out)
    c.out.emplace_back(slot.name,
                       (slot.flags & SlotDef::many) != 0 ? static_cast<int>(1 + dice.roll(3)) : 1);
  return c;
}

bool touches_the_world(const std::string& type) {
  const std::vector<std::string> not_run = {
      "push", "pull",         "await_answer",  "send",
      "recv", "send_barrier", "fetch_barrier", "listen_and_serv",
      "save", "load",         "save_combine",  "load_combine"};
  return std::find(not_run.begin(), not_run.end(), type) != not_run.end();
}

// How many of `tries` random cases the op computed.
int computed(const std::string& type, int tries) {
  Dice dice(mix64(std::hash<std::string>{}(type)));
  int count = 0;
  for (int i = 0; i < tries; ++i) {
    const OpCase c = any_case(dice, op_def(type));
    try {
      const Results results = run_op(c);
      ++count;
      std::vector<std::string> wrt, outs;
      for (const auto& [slot, tensors] : c.in) wrt.push_back(slot);
      for (const auto& [slot, tensors] : results) outs.push_back(slot);
      run_grad(c, wrt, outs);
    } catch (const Error&) {  // refused: as good
    }
  }
  return count;
}

}  // namespace any_input_test

TEST_CASE("any op with any inputs computes or refuses", "[ops]") {
  using namespace any_input_test;
  int some = 0;
  const char* alone = std::getenv("PADDLE_TEST_OP");  // to find out which one it is
  for (const std::string& type : op_types()) {
    if (touches_the_world(type) || (alone != nullptr && type != alone)) continue;
    INFO(type);
    some += computed(type, 40);
  }
  CHECK((alone != nullptr || some > 1000));  // not all of it was refused
}
