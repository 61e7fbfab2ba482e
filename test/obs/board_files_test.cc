#include "obs/board_files.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "support/temporary.h"

using namespace paddle;

namespace board_files_test {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char b : bytes) {
    out += "0123456789abcdef"[static_cast<uint8_t>(b) >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

TEST_CASE("crc32c has the value of its standard", "[obs]") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);  // RFC 3720, B.4
}

// As tensorboard 2.21 writes the same messages, with tensorflow's checksums.
TEST_CASE("records and events have TensorBoard's bytes", "[obs]") {
  CHECK(hex(board_record(board_version(1.5))) ==
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
  event::Progress p{.step = 300, .samples_per_second = 2, .cost = 0.25};
  p.evaluators = {{"auc", 0.5}};
  CHECK(hex(board_event(p, 1.5)) ==
        "09000000000000f83f10ac022a4f0a140a0d70726f67726573732f636f7374150000803e0a130a0c7072"
        "6f67726573732f617563150000003f0a220a1b70726f67726573732f73616d706c65735f7065725f7365"
        "636f6e641500000040");
  CHECK(hex(board_event(event::RolledBack{.trainer = 0, .from = 9, .to = 7}, 1.5)) ==
        "09000000000000f83f10073a020801");
  event::Parameter w{.step = 3, .elements = 3, .name = "w", .shape = "[3]", .counts = "2 1"};
  w.norm = 3;
  w.mean = 1. / 3;
  w.min = -1;
  w.max = 2;
  CHECK(hex(board_event(w, 1.5)) ==
        "09000000000000f83f10032a630a610a0c706172616d65746572732f772a5109000000000000f0bf1100"
        "0000000000004019000000000000084021000000000000f03f2900000000000022403210000000000000"
        "e03f00000000000000403a100000000000000040000000000000f03f");
  CHECK(board_event(event::Warning{"w"}, 1.5).empty());
}

std::vector<std::string> files_of(const std::string& directory) {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::recursive_directory_iterator(directory))
    if (e.is_regular_file()) out.push_back(e.path());
  return out;
}

TEST_CASE("every process begins a file of its own, in the directory of its trainer", "[obs]") {
  const TemporaryDirectory dir;
  const std::string root = dir.path() + "/events";
  for (int i = 0; i < 2; ++i) {
    BoardFiles files(root);
    files.take(event::Started{"0.1.0", "j", "job.json"});
    files.take(event::Training{.trainer = 3});
    CHECK(files_of(root).size() == static_cast<size_t>(i));  // nothing to tell so far
    files.take(event::Progress{.step = 1});
  }
  const std::vector<std::string> found = files_of(root + "/trainer-3");
  REQUIRE(found.size() == 2);
  for (const std::string& path : found) {
    const std::string bytes = read_file(path, 4096);
    CHECK(bytes.starts_with(board_record(board_version(0)).substr(0, 12)));
    const size_t head = board_record(board_version(0)).size();
    const std::string rest = board_record(board_event(event::Progress{.step = 1}, 0));
    CHECK(bytes.size() == head + rest.size());
  }
}

TEST_CASE("a directory that cannot be made is refused before the training", "[obs]") {
  const TemporaryDirectory dir;
  write_file_atomically(dir.path() + "/file", "x");
  CHECK_THROWS_WITH(BoardFiles(dir.path() + "/file"), Catch::Contains("file"));
}

}  // namespace board_files_test
