#include "base/arguments.h"

#include <catch2/catch.hpp>

using namespace paddle;

namespace arguments_test {

struct Column {
  std::string name;
  int32_t width = 1;
  void declare(Arguments& a) {
    a.required("name", name, "of the column");
    a.optional("width", width, "in letters");
  }
};

struct Table {
  std::vector<Column> columns;
  std::vector<int64_t> shape = {2, 3};
  std::optional<double> scale;
  bool sorted = false;
  std::array<int32_t, 2> step = {1, 1};
  void declare(Arguments& a) {
    a.optional("columns", columns, "from left to right");
    a.optional("shape", shape, "rows and columns");
    a.optional("scale", scale, "of all numbers");
    a.optional("sorted", sorted, "by the first column");
    a.optional("step", step, "down and to the right");
  }
};

Value at(Value v, int line, int column) {
  v.at = v.key = {line, column};
  return v;
}

Mistakes read(const Dict& dict, Table& table) {
  Arguments a(&dict, {1, 1});
  table.declare(a);
  return a.mistakes();
}

TEST_CASE("named arguments are read into the places that declare them", "[base]") {
  Table t;
  const Dict dict = {{"columns", List{Dict{{"name", "a"}}, Dict{{"name", "b"}, {"width", 7}}}},
                     {"shape", 4},
                     {"scale", 2},
                     {"sorted", Value()},
                     {"step", List{3, 5}}};
  CHECK(read(dict, t).empty());
  REQUIRE(t.columns.size() == 2);
  CHECK(t.columns[0].width == 1);
  CHECK(t.columns[1].width == 7);
  CHECK(t.shape == std::vector<int64_t>{4});  // one value stands for a list of one
  CHECK(t.scale == 2.0);
  CHECK_FALSE(t.sorted);  // null is the same as leaving the key out
  CHECK(t.step == std::array<int32_t, 2>{3, 5});
}

TEST_CASE("every mistake is found, with its place", "[base]") {
  Table t;
  Value big = 1e30;
  big.written = "1000000000000000000000000000000";
  const Dict column = {{"nam", at("a", 3, 7)}, {"width", at(big, 3, 20)}};
  const Dict dict = {{"columns", at(Dict(column), 3, 5)},
                     {"shape", at(List{1, "x"}, 4, 9)},
                     {"sorted", at("yes", 5, 9)},
                     {"sclae", at(1, 6, 3)}};
  std::vector<std::string> found;
  for (const Mistake& m : read(dict, t))
    found.push_back(text(m.at.line, ":", m.at.column, " ", m.what));
  CHECK(found ==
        std::vector<std::string>{
            "3:5 'columns': 'name' is missing",
            "3:20 'columns': 'width': 1000000000000000000000000000000 is too large a number",
            "3:7 'columns': there is no key 'nam' (did you mean 'name'?)",
            "4:9 'shape' must be a list of whole numbers, found the list [1, \"x\"]",
            "5:9 'sorted' must be true or false, found the text 'yes'",
            "6:3 there is no key 'sclae' (did you mean 'scale'?)"});
}

TEST_CASE("declarations document themselves", "[base]") {
  const std::vector<Parameter> p = parameters_of<Table>();
  REQUIRE(p.size() == 5);
  CHECK(p[0].type == "objects");
  REQUIRE(p[0].inner.size() == 2);
  CHECK(p[0].inner[0].required);
  CHECK(p[0].inner[1].fallback == "1");
  CHECK(p[1].fallback == "[2, 3]");
  CHECK(p[2].type == "number");
  CHECK(p[2].fallback == "none");
  CHECK(p[3].meaning == "by the first column");
  CHECK(p[4].fallback == "1");
}

TEST_CASE("values print as JSON", "[base]") {
  const Value v = Dict{{"a", List{1, 0.5, true, Value()}}, {"b\"", "x\n"}};
  CHECK(value_text(v) == R"({"a": [1, 0.5, true, null], "b\"": "x\n"})");
  CHECK(describe_value(Value("x")) == "the text 'x'");
  CHECK(describe_value(Value(3)) == "the number 3");
  CHECK(describe_value(Value(false)) == "false");
}

}  // namespace arguments_test
