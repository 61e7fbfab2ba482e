#include "io/checkpoint.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/temporary.h"
#include "tensor/scope.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

const TrainState state{.step = 12,
                       .pass = 3,
                       .record = 400,
                       .samples = 5000000000,
                       .seeds = {1, ~uint64_t{0}},
                       .program_digest = "0123456789abcdef",
                       .extra = {{"cost", "0.25"}, {"reader", ""}}};

}  // namespace

TEST_CASE("the state of training comes back exactly", "[io]") {
  const std::string file = write_train_state(state, {{"w", 26, 7}, {"b", 1, ~0u}});
  std::vector<FileRecord> files;
  CHECK(read_train_state(file, "train_state", &files) == state);
  CHECK(files == std::vector<FileRecord>{{"b", 1, ~0u}, {"w", 26, 7}});
  CHECK(read_train_state(write_train_state({}), "train_state") == TrainState{});

  SECTION("a prefix or a flipped bit is always seen") {
    for (size_t n = 0; n < file.size(); ++n)
      CHECK_THROWS_AS(read_train_state(file.substr(0, n), "train_state"), Error);
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::string bad = file;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      CHECK_THROWS_AS(read_train_state(bad, "train_state"), Error);
    }
    CHECK_THROWS_WITH(read_train_state(file + "x", "train_state"), Contains("bytes too many"));
  }
}

TEST_CASE("checkpoints", "[io]") {
  TemporaryDirectory dir;
  const std::string path = dir.path() + "/" + pass_name(3);
  Program p;
  p.global().create({.name = "net/w", .shape = {2}, .persistable = true});
  Scope scope, back;
  scope.var("net/w").tensor = Tensor::of<float>({2}, {1.5f, -2});
  const VarList vars = persistables_of(p);
  save_checkpoint(path, vars, values_of(scope), state);

  SECTION("hold parameters and position") {
    CHECK(load_checkpoint(path, vars, into(back)) == state);
    CHECK(back.tensor("net/w").data<float>()[1] == -2);
    CHECK(list_directory(path) == std::vector<std::string>{"done", "net", "train_state"});
  }
  SECTION("are replaced as a whole") {
    scope.var("net/w").tensor.data<float>()[0] = 9;
    save_checkpoint(path, vars, values_of(scope), {.step = 13});
    CHECK(load_checkpoint(path, vars, into(back))->step == 13);
    CHECK(back.tensor("net/w").data<float>()[0] == 9);
  }
  SECTION("of older models load without a position") {
    std::filesystem::remove(path + "/train_state");
    CHECK_FALSE(load_checkpoint(path, vars, into(back)).has_value());
    CHECK(back.tensor("net/w").data<float>()[0] == 1.5f);
  }
  SECTION("that are not finished are refused") {
    std::filesystem::remove(path + "/done");
    CHECK_THROWS_WITH(load_checkpoint(path, vars, into(back)), Contains("not finished"));
    CHECK(list_checkpoints(dir.path()).empty());
  }
  SECTION("that fluid.io saved have neither a state nor an end") {
    const std::string plain = dir.path() + "/model";
    save_vars(plain, vars, values_of(scope));
    CHECK_FALSE(load_checkpoint(plain, vars, into(back)).has_value());
    CHECK(back.tensor("net/w").data<float>()[0] == 1.5f);
  }
  SECTION("with a changed element are refused") {
    std::string file = read_file(path + "/net/w", 1000);
    file.back() = static_cast<char>(file.back() ^ 1);
    write_file_atomically(path + "/net/w", file);
    CHECK_THROWS_WITH(load_checkpoint(path, vars, into(back)),
                      Contains("checksum") && Contains("go back"));
    CHECK(back.names().empty());
  }
  SECTION("are listed in order") {
    for (const std::string& name :
         {pass_name(2), pass_name(10), pass_name(10, 2), pass_name(123456), std::string("other")})
      save_checkpoint(dir.path() + "/" + name, vars, values_of(scope), {});
    CHECK(list_checkpoints(dir.path()) == std::vector<std::string>{"pass-00002", "pass-00003",
                                                                   "pass-00010-002", "pass-00010",
                                                                   "pass-123456"});
  }
  SECTION("refuse variables with the names of their own files") {
    p.global().create({.name = "done", .shape = {2}, .persistable = true});
    CHECK_THROWS_WITH(save_checkpoint(path, persistables_of(p), values_of(scope), state),
                      Contains("rename it"));
  }
}
