#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

ReaderSpec csv(const std::string& path) {
  ReaderSpec spec;
  spec.format = "csv";
  spec.files = {path};
  spec.batch_size = 100;
  return spec;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("csv: columns to fields", "[data]") {
  const TempDir dir;
  SECTION("by default the last one is y") {
    const std::string content = "1,2,3\n4, 5 ,6\n";
    for (const std::string& form : {content, gzipped(content), xzipped(content)})
      CHECK(rest_of_pass(*open_reader(csv(dir.write("f", form)))) ==
            Texts{"[1 2] [3]", "[4 5] [6]"});
  }
  SECTION("by header, number and range") {
    ReaderSpec spec = csv(dir.write("f", "id;a;b;click-rate\n9;1;2;1\n8;3;4;0\n"));
    set_key(spec, "separator", ";");
    set_key(spec, "header", true);
    set_key(
        spec, "csv_fields",
        List{Dict{{"name", "label"}, {"dtype", "int64"}, {"columns", "click-rate"}, {"bound", 2}},
             Dict{{"name", "dense"}, {"columns", "1-2"}},
             Dict{{"name", "id"}, {"dtype", "int64"}, {"columns", "0"}}});
    const auto reader = open_reader(spec);
    CHECK(rest_of_pass(*reader) == Texts{"[1] [1 2] [9]", "[0] [3 4] [8]"});
    CHECK(reader->fields()[1].shape == Shape{2});
  }
  SECTION("quotes, blanks as separators, missing values") {
    CHECK(rest_of_pass(*open_reader(csv(dir.write("f", "\"1\",2\n3,\"4\"\n")))) ==
          Texts{"[1] [2]", "[3] [4]"});
    ReaderSpec spec = csv(dir.write("f", "  1   2\t3\n"));
    set_key(spec, "separator", " ");
    CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[1 2] [3]"});
    spec = csv(dir.write("f", "1,,3\n"));
    set_key(spec, "missing", -1);
    CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[1 -1] [3]"});
  }
  SECTION("hashed text depends on its column") {
    ReaderSpec spec = csv(dir.write("f", "ab,ab,ab\nab,cd,\n"));
    set_key(spec, "csv_fields",
            List{Dict{{"name", "c"}, {"dtype", "int64"}, {"columns", "0-2"}, {"hash", 1000003}}});
    Batch batch;
    REQUIRE(open_reader(spec)->next(batch));
    const auto v = batch.fields[0].values<int64_t>();
    CHECK(v[0] == v[3]);
    CHECK(v[0] != v[1]);
    CHECK(v[1] != v[4]);
    for (const int64_t id : v) CHECK((id >= 0 && id < 1000003));
  }
}

TEST_CASE("csv: the Criteo sample", "[data]") {
  if (!have_real_data()) return;
  ReaderSpec spec = csv(real_data() + "/criteo_1tb_sample/day_0.part.txt.xz");
  set_key(spec, "separator", "\t");
  set_key(spec, "missing", 0);
  set_key(
      spec, "csv_fields",
      List{Dict{{"name", "label"}, {"dtype", "int64"}, {"columns", "0"}, {"bound", 2}},
           Dict{{"name", "dense"}, {"columns", "1-13"}},
           Dict{{"name", "sparse"}, {"dtype", "int64"}, {"columns", "14-39"}, {"hash", 1000001}}});
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 10000);
  int64_t clicks = 0;
  for (Batch batch; reader->next(batch);) {
    CHECK(batch.fields[2].shape() == Shape{100, 26});
    for (const int64_t label : batch.fields[0].values<int64_t>()) clicks += label;
  }
  CHECK(clicks == 265);
}

TEST_CASE("csv: bad files", "[data]") {
  const TempDir dir;
  const auto error = [&](const std::string& content) {
    return error_of(csv(dir.write("f", content)));
  };
  CHECK_THAT(error(""), Contains("/f: expected at least one record"));
  CHECK_THAT(error("1,2,3\n1,2\n"),
             Contains("/f:2: expected 3 columns, as in the first line, found 2"));
  CHECK_THAT(error("1,2,3\n1,2,3,4\n"),
             Contains("/f:2: expected 3 columns, as in the first line, found 4"));
  CHECK_THAT(error("1,x,3\n"),
             Contains("/f:1: expected a finite number in column 1 (field x), found 'x'"));
  CHECK_THAT(error("1,,3\n"), Contains("expected a number in column 1 (field x), found nothing"));
  CHECK_THAT(error("1\n"), Contains("expected at least 2 columns, found 1; check the separator"));
  CHECK_THAT(error("\"1,2\n"), Contains("expected a closing quote"));
  CHECK_THAT(error("\"1\"\"\n"), Contains("expected a closing quote"));
  CHECK_THAT(error("\"1\"2,3\n"),
             Contains("expected a separator after the closing quote, found '2,3'"));

  ReaderSpec spec = csv(dir.write("f", "name,price\n1,2\n"));
  set_key(spec, "header", true);
  set_key(spec, "csv_fields", List{Dict{{"name", "y"}, {"dtype", "int64"}, {"columns", "prise"}}});
  CHECK_THAT(error_of(spec), Contains("there is no column 'prise' (did you mean 'price'?)"));
  set_key(spec, "csv_fields", List{Dict{{"name", "y"}, {"dtype", "int64"}, {"columns", "0-2"}}});
  CHECK_THAT(error_of(spec), Contains("the columns '0-2' are not among the 2 of the file"));
  set_key(spec, "csv_fields",
          List{Dict{{"name", "y"}, {"dtype", "int64"}, {"columns", "0"}, {"bound", 1}}});
  CHECK_THAT(error_of(spec),
             Contains("/f:2: expected a number from 0 to 0 in column 0 (field y), found 1"));
  spec.files = {dir.write("g", "name,price\n")};
  CHECK_THAT(error_of(spec), Contains("/g: expected at least one record"));
  spec.files = {dir.write("f", "name,price\n0,2\n"), dir.write("g", "price,name\n1,2\n")};
  CHECK_THAT(error_of(spec), Contains("/g:1: expected the same columns as in the first file"));
}
