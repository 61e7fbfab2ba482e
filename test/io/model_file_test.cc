#include "io/model_file.h"

#include <catch2/catch.hpp>

#include "io/bytes.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

// VarDesc: float32 tensor [-1, 13], lod_level 0 explicit, and whatever comes after the type.
std::string var(const std::string& name, const std::string& after = "") {
  const std::string dims = bytes({0x08, 5, 0x10}) + std::string(9, '\xff') + bytes({1, 0x10, 13});
  const std::string lod_tensor = field(0x0a, dims) + bytes({0x10, 0});
  return field(0x0a, name) + field(0x12, bytes({0x08, 7}) + field(0x1a, lod_tensor)) + after;
}

std::string slot(const std::string& name, const std::string& argument) {
  return field(0x0a, name) + field(0x12, argument);
}

std::string op(const std::string& more = "") {
  return field(0x0a, slot("X", "x")) + field(0x12, slot("Out", "y")) + field(0x1a, "scale") + more;
}

std::string attr(const std::string& name, int type, const std::string& value) {
  return field(0x22, field(0x0a, name) + bytes({0x10, type}) + value);
}

std::string block(const std::string& content, int idx = 0) {
  const std::string parent = idx == 0 ? std::string(9, '\xff') + bytes({1}) : bytes({idx - 1});
  return field(0x0a, bytes({0x08, idx, 0x10}) + parent + content);
}

std::string program(const std::string& ops, const std::string& after = "") {
  return block(field(0x1a, var("x")) + field(0x1a, var("y", bytes({0x18, 1}))) + ops) + after;
}

// Attributes of every type.
std::string all_attrs() {
  return attr("i", 0, bytes({0x18, 7})) + attr("f", 1, bytes({0x25}) + raw(0.5f)) +
         attr("s", 2, field(0x2a, "text")) + attr("ints", 3, bytes({0x30, 1, 0x30, 2})) +
         attr("floats", 4, bytes({0x3d}) + raw(-0.f)) +
         attr("strings", 5, field(0x42, "a") + field(0x42, "")) + attr("b", 6, bytes({0x50, 1})) +
         attr("bools", 7, bytes({0x58, 0, 0x58, 1})) + attr("block", 8, bytes({0x60, 0})) +
         attr("l", 9, bytes({0x68, 0x80, 1})) + attr("blocks", 10, bytes({0x70, 0})) +
         attr("longs", 11, bytes({0x78, 3})) + attr("none", 3, "");
}

}  // namespace

TEST_CASE("a saved program", "[io]") {
  const std::string file =
      program(field(0x22, op(all_attrs())), bytes({0x22, 4, 0x08, 0xc0, 0xbb, 0x71}));
  const Program p = read_program(file);

  SECTION("is understood") {
    REQUIRE(p.num_blocks() == 1);
    CHECK(p.version == 1859008);
    CHECK(p.version_field == 4);
    const Var& x = p.global().var("x");
    CHECK(x.shape == Shape{-1, 13});
    CHECK(x.dtype == DType::f32);
    CHECK_FALSE(x.persistable);
    CHECK(p.global().var("y").persistable);
    REQUIRE(p.global().ops().size() == 1);
    const Op& o = *p.global().ops()[0];
    CHECK(o.type == "scale");
    CHECK(o.in["X"] == Names{"x"});
    CHECK(o.out["Out"] == Names{"y"});
    CHECK(o.attrs.get<float>("f") == 0.5f);
    CHECK(o.attrs.get<Bools>("bools") == Bools{false, true});
    CHECK(o.attrs.get<int64_t>("l") == 128);
    CHECK(o.attrs.get<Ints>("none").empty());
    CHECK(std::get<BlockRef>(*o.attrs.find("block")).index == 0);
  }
  SECTION("is written with the same bytes") { CHECK(write_program(p) == file); }
  SECTION("is refused at every cut") {
    // A cut right after the block leaves a whole program without a version: that is a file of 0.12.
    const size_t whole = file.size() - 6;
    for (size_t n = 0; n < file.size(); ++n)
      if (n != whole) CHECK_THROWS_AS(read_program(file.substr(0, n)), Error);
    CHECK(read_program(file.substr(0, whole)).version_field == 0);
  }
  SECTION("with flipped bits is refused or read, and what is read can be written") {
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::string bad = file;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      try {
        const std::string again = write_program(read_program(bad));
        CHECK(write_program(read_program(again)) == again);
      } catch (const Error&) {
      }
    }
  }
}

TEST_CASE("saved programs of every version keep their bytes", "[io]") {
  const std::string plain = field(0x22, op());
  const auto kept = [](const std::string& file) {
    return write_program(read_program(file)) == file;
  };
  CHECK(kept(program(plain)));                             // 0.12: no version
  CHECK(kept(program(plain, bytes({0x12, 2, 0x08, 0}))));  // 1.5: field 2
  CHECK(read_program(program("", bytes({0x12, 2, 0x08, 0}))).version_field == 2);
  CHECK(kept(program(plain, field(0x1a, field(0x0a, "pairs")) + bytes({0x22, 2, 0x08, 0}))));
  CHECK(kept(program(field(0x22, op(bytes({0x28, 0}))))));  // is_target, said to be false
  CHECK(kept(program(field(0x22, op(bytes({0x28, 1}))))));
  CHECK(kept(
      program(plain + bytes({0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}))));
  CHECK(kept(block(field(0x1a, var("x", bytes({0x18, 0}))))));  // persistable, said to be false
  CHECK(kept(block(field(0x1a, var("x", bytes({0x20, 1}))))));  // need_check_feed
  CHECK(kept(block("") + block("", 1)));
  // Kinds that we only carry along: a feed list, a reader, a tuple, a number of the future.
  for (const std::string& type :
       {bytes({0x08, 9}), bytes({0x08, 15}) + field(0x2a, field(0x0a, field(0x0a, bytes({8, 5})))),
        bytes({0x08, 18}) + field(0x3a, bytes({0x08, 5})), bytes({0x08, 99}), bytes({0x08, 7}),
        bytes({0x08, 7}) + field(0x1a, field(0x0a, bytes({0x08, 19, 0x10, 1}))),
        bytes({0x08, 8}) + field(0x12, bytes({0x08, 5, 0x10, 3}))})
    CHECK(kept(block(field(0x1a, field(0x0a, "v") + field(0x12, type)))));
}

TEST_CASE("a program prints as protobuf's text, with names for numbers", "[io]") {
  Program p;
  p.global().create({.name = "x", .dtype = DType::i64, .shape = {-1, 3}, .persistable = true});
  p.global().append(
      {.type = "scale", .in = {{"X", {"x"}}}, .out = {{"Out", {"y"}}}, .attrs = {{"scale", 2.f}}});
  const std::string text = record_text(p);
  CHECK(text.rfind("blocks {\n  idx: 0\n  parent_idx: -1\n  vars {\n    name: \"x\"\n", 0) == 0);
  CHECK_THAT(text, Contains("data_type: INT64\n          dims: -1\n          dims: 3\n"));
  CHECK_THAT(text, Contains("name: \"scale\"\n      type: FLOAT\n      f: 2\n"));
  CHECK_THAT(
      record_text(p.global().var("x")),
      Contains("name: \"x\"\ntype {\n  type: LOD_TENSOR\n") && Contains("persistable: true"));
  CHECK_THAT(record_text(*p.global().ops()[0]), Contains("type: \"scale\"\n"));
  CHECK_THAT(record_text(p.global()), Contains("idx: 0\nparent_idx: -1\n"));
}

TEST_CASE("packed lists and unknown fields are read", "[io]") {
  const std::string packed = attr("ints", 3, field(0x32, bytes({1, 2, 3})));
  const Program p = read_program(program(field(0x22, op(packed + bytes({0x78, 1})))));
  CHECK(p.global().ops()[0]->attrs.get<Ints>("ints") == Ints{1, 2, 3});
  CHECK(p.global().ops()[0]->foreign == bytes({0x78, 1}));
}

TEST_CASE("a changed variable is written as it is, not as it was", "[io]") {
  Program p = read_program(block(field(0x1a, var("x", bytes({0x18, 0})))));
  Var& x = p.global().var("x");
  CHECK_FALSE(x.foreign.empty());
  x.persistable = true;
  x.shape = {4, 2};
  x.lod_level = 1;
  const Var back = read_program(write_program(p)).global().var("x");
  CHECK(back.persistable);
  CHECK(back.shape == Shape{4, 2});
  CHECK(back.lod_level == 1);
}

TEST_CASE("programs that contradict themselves are refused", "[io]") {
  const std::string x = field(0x1a, var("x"));
  CHECK_THROWS_WITH(read_program(""), Contains("holds no block"));
  CHECK_THROWS_WITH(read_program(block(x + x)), Contains("the variable 'x' twice"));
  CHECK_THROWS_WITH(read_program(block("", 1)), Contains("says that it is block 1"));
  CHECK_THROWS_WITH(read_program(block("") + field(0x0a, bytes({8, 1, 0x10, 1}))),
                    Contains("block 1 has parent 1"));
  CHECK_THROWS_WITH(read_program(field(0x0a, bytes({8, 0, 0x10, 0}))),
                    Contains("block 0 has parent 0, expected -1"));
  CHECK_THROWS_WITH(read_program(block(bytes({0x28, 4}))), Contains("forward block 4"));
  CHECK_THROWS_WITH(read_program(program(field(0x22, op(attr("b", 8, bytes({0x60, 3})))))),
                    Contains("names block 3") && Contains("'b'") && Contains("'scale'"));
  CHECK_THROWS_WITH(read_program(program(field(0x22, op(attr("a", 12, ""))))),
                    Contains("type number 12"));
  CHECK_THROWS_WITH(read_program(program(field(0x22, op(attr("a", 0, "") + attr("a", 0, ""))))),
                    Contains("the attribute 'a' twice"));
  CHECK_THROWS_WITH(read_program(program(field(0x22, field(0x0a, slot("X", "x"))))),
                    Contains("'type' in op 0 of block 0"));
  CHECK_THROWS_WITH(read_program("\x89PNG\r\n\x1a\n", "photo.png"),
                    Contains("photo.png") && Contains("a PNG image"));
  CHECK_THROWS_WITH(read_program("type: train\n"), Contains("not a saved Fluid program"));
}
