#include "io/save.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "io/bytes.h"
#include "io/tensor_file.h"
#include "support/temporary.h"
#include "tensor/scope.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

struct Model {
  Program program;
  Scope scope;

  void add(const std::string& name, const Shape& shape, float value, bool param = true) {
    Var v{.name = name, .shape = shape, .persistable = true};
    if (param) v.param.emplace();
    program.global().create(v);
    Tensor& t = scope.var(name).tensor;
    t.resize(DType::f32, shape);
    for (float& x : t.values<float>()) x = value++;
  }
};

Model model() {
  Model m;
  m.add("fc_0.w_0", {2, 3}, 1);
  m.add("fc_0.b_0", {3}, 10);
  m.add("tower/a/w", {2}, 20);
  m.add("fc_0.w_0_moment_0", {2, 3}, 30, false);
  m.program.global().create({.name = "hidden", .shape = {-1, 3}});
  m.program.global().create({.name = "feed", .kind = VarKind::feed_minibatch, .persistable = true});
  m.program.global().create(
      {.name = "rows", .kind = VarKind::selected_rows, .shape = {9, 2}, .persistable = true});
  m.scope.var("rows").rows = std::make_unique<SelectedRows>(
      SelectedRows{{7, 2}, 9, Tensor::of<float>({2, 2}, {1, 2, 3, 4})});
  return m;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("variables go to a directory and come back", "[io]") {
  const Model m = model();
  TemporaryDirectory dir;
  const std::string filename = GENERATE("", "all");
  Scope back;
  save_vars(dir.path(), persistables_of(m.program), values_of(m.scope), filename);
  load_vars(dir.path(), persistables_of(m.program), into(back), filename);
  for (const char* name : {"fc_0.w_0", "fc_0.b_0", "tower/a/w", "fc_0.w_0_moment_0"})
    CHECK(equal(back.tensor(name), m.scope.tensor(name)));
  CHECK(back.find("rows")->rows->rows == std::vector<int64_t>{7, 2});
  CHECK(back.find("hidden") == nullptr);
  CHECK(std::filesystem::exists(dir.path() + "/tower/a/w") == filename.empty());
}

TEST_CASE("parameters alone", "[io]") {
  const Model m = model();
  TemporaryDirectory dir;
  save_vars(dir.path(), params_of(m.program), values_of(m.scope));
  CHECK(is_file(dir.path() + "/fc_0.w_0"));
  CHECK_FALSE(is_file(dir.path() + "/fc_0.w_0_moment_0"));
}

TEST_CASE("the combined file is the files in order of name", "[io]") {
  const Model m = model();
  TemporaryDirectory dir;
  save_vars(dir.path(), params_of(m.program), values_of(m.scope));
  save_vars(dir.path(), params_of(m.program), values_of(m.scope), "all");
  std::string expected;
  for (const char* name : {"fc_0.b_0", "fc_0.w_0", "tower/a/w"})
    expected += read_file(dir.path() + "/" + name, 1000);
  CHECK(read_file(dir.path() + "/all", 1000) == expected);

  SECTION("another set of variables does not fit") {
    Model more = model();
    more.add("zz", {1}, 0);
    Scope back;
    CHECK_THROWS_WITH(load_vars(dir.path(), params_of(more.program), into(back), "all"),
                      Contains("expected the variable 'zz' (4 of 4)"));
    CHECK(back.names().empty());
    Model fewer = model();
    fewer.program.global().remove_var("tower/a/w");
    CHECK_THROWS_WITH(load_vars(dir.path(), params_of(fewer.program), into(back), "all"),
                      Contains("after the last of 2 variables"));
  }
}

TEST_CASE("all problems of a load come at once and nothing is changed", "[io]") {
  Model m = model();
  TemporaryDirectory dir;
  save_vars(dir.path(), params_of(m.program), values_of(m.scope));
  m.program.global().var("fc_0.w_0").shape = {3, 3};
  m.program.global().var("fc_0.b_0").dtype = DType::i64;
  m.add("new", {1}, 0);
  write_file_atomically(dir.path() + "/tower/a/w", "\x1f\x8b junk");
  Scope back;
  CHECK_THROWS_WITH(load_vars(dir.path(), params_of(m.program), into(back)),
                    Contains("wants shape [3, 3], the file holds [2, 3]") &&
                        Contains("wants int64, the file holds float32") &&
                        Contains("cannot open") && Contains("/new") && Contains("gzip"));
  CHECK(back.names().empty());
  CHECK_THROWS_WITH(load_vars(dir.path() + "/none", params_of(m.program), into(back)),
                    Contains("no such directory"));
}

TEST_CASE("names never leave the directory", "[io]") {
  for (const std::string bad : {"../x", "a/../../x", "/etc/x", "", "..", ".", "a//b", "a/", "a/."})
    CHECK_THROWS_AS(check_file_name(bad), Error);
  CHECK_THROWS_AS(check_file_name(std::string("a\0b", 3)), Error);
  for (const std::string good : {"x", "a/b", "..x", "a..b/c", "w@GRAD", "save_infer_model/scale_0"})
    CHECK_NOTHROW(check_file_name(good));

  TemporaryDirectory dir;
  Model m;
  m.add("../escaped", {1}, 0);
  m.add("fine", {1}, 0);
  m.program.global().create({.name = "empty", .shape = {1}, .persistable = true});
  const std::string inside = dir.path() + "/inside";
  CHECK_THROWS_WITH(save_vars(inside, persistables_of(m.program), values_of(m.scope)),
                    Contains("would leave the directory") && Contains("'empty' has no value"));
  CHECK_FALSE(std::filesystem::exists(dir.path() + "/escaped"));
  CHECK_FALSE(std::filesystem::exists(inside));  // found before anything was written
  make_directories(inside);
  save_vars(dir.path(), {m.program.global().find("fine")}, values_of(m.scope));
  std::filesystem::rename(dir.path() + "/fine", dir.path() + "/escaped");
  Scope back;
  CHECK_THROWS_WITH(load_vars(inside, persistables_of(m.program), into(back)),
                    Contains("would leave the directory"));
}

TEST_CASE("no variables are no file", "[io]") {
  const TemporaryDirectory dir;
  Scope scope;
  save_vars(dir.path(), {}, values_of(scope), "all");
  CHECK_FALSE(std::filesystem::exists(dir.path() + "/all"));
  load_vars(dir.path(), {}, into(scope), "all");
}
