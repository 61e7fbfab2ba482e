// paddle table: what is read of the file of a table, printed, exported and made of text.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "io/tensor_file.h"
#include "paddle/table_commands.h"
#include "paddle/table_stats.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace paddle_table_test {
namespace {

class Words : public ByteSource {
 public:
  explicit Words(std::string bytes) : bytes_(std::move(bytes)) {}
  size_t read(std::span<char> to) override {
    const size_t n = std::min(to.size(), bytes_.size() - at_);
    std::memcpy(to.data(), bytes_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

TableStore imported(const std::string& words, const ImportWords& given = {"emb", "", {}}) {
  LineReader lines("rows.txt", std::make_unique<Words>(words));
  return import_table(lines, given);
}

// A table that has learned, with its file.
struct Saved {
  explicit Saved(const std::string& rule, size_t rows = 3000, bool bf16 = false) {
    const std::string head = text("param emb\nversion 0\nwidth 4\nrule ", rule, "\nseed 7\nbf16 ",
                                  int{bf16}, "\ninit uniform\ninit_a -0.5\ninit_b 0.5\n",
                                  rule == "momentum" ? "set.mu 0.75\n" : "");
    store.begin(table_head_of(head, "head"));
    TableStore::Kept& k = *store.find("emb");
    std::vector<float> grads(4);
    for (uint64_t i = 0; i < rows; ++i) {
      const uint64_t id = mix64(i % (rows - rows / 3));  // some ids learn twice
      for (int j = 0; j < 4; ++j)
        grads[static_cast<size_t>(j)] = 0.01f * static_cast<float>(i % 97) - 0.3f;
      k.table->push({&id, 1}, grads.data(), 0.1f, k.version++);
    }
    path = dir.path() + "/emb.table";
    write(bytes());
  }
  std::string bytes() {
    std::string out;
    store.save("emb", [&](std::string_view part) { out += part; });
    return out;
  }
  void write(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  const Table& table() { return *store.find("emb")->table; }

  TemporaryDirectory dir;
  TableStore store;
  std::string path;
};

std::string exported(const std::string& path, bool states) {
  TableFile file(path);
  std::string out;
  export_text(file, states, [&](std::string_view bytes) { out += bytes; });
  return out;
}

}  // namespace

TEST_CASE("a table becomes text and a table of the same bits again", "[paddle]") {
  for (const char* rule : {"sgd", "momentum", "adagrad", "rowwise_adagrad", "adam", "ftrl"}) {
    for (const bool bf16 : {false, true}) {
      CAPTURE(rule, bf16);
      Saved saved(rule, 3000, bf16);
      TableStore again = imported(exported(saved.path, true));
      const TableStore::Kept& k = *again.find("emb");
      CHECK(k.table->rows() == saved.table().rows());
      CHECK(k.table->digest() == saved.table().digest());
      CHECK(k.version == 3000);
      const uint64_t id = mix64(5), missing = mix64(1 << 20);
      CHECK(k.table->find(id)->step == saved.table().find(id)->step);
      CHECK(k.table->find(id)->count == saved.table().find(id)->count);
      float first[4], expected[4];  // an id without a row begins as it would have
      k.table->pull({&missing, 1}, first);
      saved.table().pull({&missing, 1}, expected);
      CHECK(std::memcmp(first, expected, sizeof first) == 0);
    }
  }
}

TEST_CASE("values alone come back with the optimizer's first state", "[paddle]") {
  Saved saved("adagrad");
  TableStore again = imported(exported(saved.path, false));
  const uint64_t id = mix64(5);
  CHECK(again.find("emb")->table->find(id)->values == saved.table().find(id)->values);
  CHECK(again.find("emb")->table->find(id)->states == std::vector<float>(4, 0.0f));
  CHECK(again.find("emb")->table->find(id)->count == 0);
  SECTION("and for another optimizer") {
    TableStore other = imported(exported(saved.path, false), {"emb", "adam", {}});
    CHECK(other.find("emb")->table->find(id)->states.size() == 8);
    CHECK_THROWS_WITH(imported(exported(saved.path, true), {"emb", "adam", {}}),
                      Contains("state of the optimizer 'adagrad'"));
  }
}

TEST_CASE("text that somebody wrote becomes a table", "[paddle]") {
  TableStore store = imported("# two rows\n7 1.5 -2\n\n-1\t0.25\t3e2\n");
  const Table& t = *store.find("emb")->table;
  CHECK(t.rows() == 2);
  CHECK(t.options().rule == "sgd");
  CHECK(t.find(7)->values == std::vector<float>{1.5f, -2});
  CHECK(t.find(~uint64_t{0})->values == std::vector<float>{0.25f, 300});
  SECTION("like another one") {
    Saved saved("adagrad");
    const std::string head = table_head_text(TableFile(saved.path).head());
    TableStore like = imported("7 1 2 3 4\n", {"emb", "", head});
    CHECK(like.find("emb")->table->options().rule == "adagrad");
    CHECK_THROWS_WITH(imported("7 1 2 3\n", {"emb", "", head}), Contains("rows.txt:1"));
  }
}

TEST_CASE("text that is no table is refused with its line", "[paddle]") {
  const auto refused = [](const std::string& words, const std::string& why) {
    CAPTURE(words);
    CHECK_THROWS_WITH(imported(words), Contains(why));
  };
  refused("", "rows.txt has no rows");
  refused("# nothing\n\n", "rows.txt has no rows");
  refused("7\n", "a row has 1 to 65536 values");
  refused("7 1 2\n8 1\n", "rows.txt:2: expected 2 values, found 1");
  refused("7 1 2\n8 1 2 3\n", "rows.txt:2");
  refused("7 1 2\nx 1 2\n", "rows.txt:2: expected an id");
  refused("99999999999999999999 1 2\n", "rows.txt:1: expected an id");
  refused("1.5 1 2\n", "rows.txt:1: expected an id");
  refused("7 1 two\n", "rows.txt:1: expected a finite number, found 'two'");
  refused("7 1 nan\n", "rows.txt:1: expected a finite number");
  refused("7 1 1e99\n", "rows.txt:1: expected a finite number");
  refused("7 1 2\n8 1 2\n7 3 4\n", "rows.txt:3: expected every id once, found the id 7");
  refused("# paddle table 1\n# columns id colour\n7 1 2\n", "rows.txt:2");
  refused("# paddle table 1\n# width 2\n# rule best\n7 1 2\n", "best");
  refused("# paddle table 1\n# width 2\n# height 5\n7 1 2\n", "rows.txt:4: expected an id below 5");
  refused("# paddle table 1\n# width 2\n# columns id step count values state\n7 0 70000 1 2\n",
          "from 0 to 65535");
  std::string many = "# paddle table 1\n# width 1\n";
  for (int i = 0; i < 300000; ++i) many += text(i, " 1\n");  // more than a part holds
  CHECK(imported(many).find("emb")->table->rows() == 300000);
  refused(many + "17 1\n", "the id 17 for the second time");
}

TEST_CASE("a table becomes Fluid's selected rows", "[paddle]") {
  TableStore store = imported("7 1.5 -2\n3 0.25 4\n");
  TemporaryDirectory dir;
  const std::string path = dir.path() + "/emb.table";
  const auto rows = [&](TableStore& from) {
    std::string bytes, out;
    from.save("emb", [&](std::string_view part) { bytes += part; });
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    TableFile file(path);
    export_selected_rows(file, [&](std::string_view part) { out += part; });
    BinaryReader in(out, "rows");
    SelectedRows read = read_selected_rows(in);
    CHECK(in.left() == 0);
    return read;
  };
  const SelectedRows r = rows(store);
  REQUIRE(r.rows.size() == 2);
  CHECK(r.height == 8);
  std::map<int64_t, std::vector<float>> by_id;
  for (size_t i = 0; i < 2; ++i)
    by_id[r.rows[i]] = {r.value.data<float>()[2 * i], r.value.data<float>()[2 * i + 1]};
  CHECK(by_id[7] == std::vector<float>{1.5f, -2});
  CHECK(by_id[3] == std::vector<float>{0.25f, 4});
  TableStore huge = imported("-1 1 2\n");
  CHECK_THROWS_WITH(rows(huge), Contains("18446744073709551615") && Contains("--format=text"));
}

TEST_CASE("statistics of rows", "[paddle]") {
  TableStore store = imported("7 3 -4\n8 0 0\n9 1 1\n");
  TemporaryDirectory dir;
  std::string bytes;
  store.save("emb", [&](std::string_view part) { bytes += part; });
  std::ofstream(dir.path() + "/emb.table", std::ios::binary) << bytes;
  TableFile file(dir.path() + "/emb.table");
  TableStats stats(file.layout(), 2, {8});
  file.each_row([&](const std::byte* row) { stats.add(row); });
  CHECK(stats.rows == 3);
  CHECK(stats.zero_rows == 1);
  CHECK(stats.values.low == -4);
  CHECK(stats.values.high == 3);
  CHECK(stats.values.count == 6);
  CHECK(stats.norms.high == 5);
  CHECK(stats.longest_id == 7);
  CHECK(stats.by_count[0] == 3);
  CHECK(stats.samples().size() == 2);
  CHECK(stats.wanted.at(8).values == std::vector<float>{0, 0});
  const std::string words = inspect_table(file, 5, {8, 100});
  CHECK_THAT(words, Contains("3 of 2 values"));
  CHECK_THAT(words, Contains("id 100 has no row"));
  NumberStats n;
  for (const double x : {1.0, std::nan(""), double{INFINITY}}) n.add(x);
  CHECK(n.count == 1);
  CHECK(n.not_finite == 2);
}

TEST_CASE("a damaged file of a table is refused at every byte", "[paddle]") {
  Saved saved("adagrad", 60);
  const std::string whole = saved.bytes();
  const auto read = [&](const std::string& bytes) {
    saved.write(bytes);
    TableFile file(saved.path);
    file.each_row([](const std::byte*) {});
  };
  read(whole);
  for (size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    CHECK_THROWS_AS(read(broken), Error);
    CHECK_THROWS_AS(read(whole.substr(0, at)), Error);
  }
  CHECK_THROWS_WITH(read(""), Contains("is empty"));
  CHECK_THROWS_WITH(read(whole.substr(0, whole.size() / 2)), Contains("cut short"));
  CHECK_THROWS_WITH(read(whole + "x"), Contains("behind its end"));
  CHECK_THROWS_WITH(read("PNG and more"), Contains("no file of a sparse table"));
}

}  // namespace paddle_table_test
