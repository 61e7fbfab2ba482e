#include "trainer/job_file.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "job_generated.h"
#include "options/tables.h"
#include "trainer/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

const std::string good = R"(// fit a line
{
  "num_passes": 7,
  "inputs": [{"name": "x", "shape": 13}, {"name": "y", "shape": [1]}],
  "layers": [
    {"type": "fc", "name": "p", "input": "x", "size": "${size:1}"},
    {"type": "square_error_cost", "name": "c", "input": "p", "label": "y"}
  ],
  "cost": "c",
  "optimizer": {"type": "sgd", "learning_rate": 0.01},
  "data": {"format": "uci_housing", "batch_size": 20}
})";

Options no_flags() { return Options::parse({}, {}, trainer_options()); }

}  // namespace

TEST_CASE("job file", "[trainer]") {
  Options options = no_flags();

  SECTION("is read into types, single values into lists, options into the table") {
    const JobFile file = parse_job("job.json", good, "size=3", options);
    REQUIRE(file.job->inputs.size() == 2);
    CHECK(file.job->inputs[0]->shape == std::vector<int64_t>{13});
    CHECK(file.job->layers[0]->size == std::vector<int64_t>{3});
    CHECK(file.job->optimizer->learning_rate == 0.01f);
    CHECK(options.integer("num_passes") == 7);
    CHECK(options.source("num_passes") == "job.json:3");
  }
  SECTION("lists all mistakes at once, each with its line and a suggestion") {
    const std::string bad = R"({
  "num_pases": 7,
  "inputs": [{"name": 5}],
  "layers": [{"type": "fc", "inptu": "x"},
             {"name": "q"}],
  "cost": ["c", "d"],
  "optimizer": "sgd",
  "data": {"format": "csv", "batch_size": 2.5, "shuffle": "yes"}
})";
    try {
      parse_job("job.json", bad, "", options);
      FAIL("accepted");
    } catch (const Error& e) {
      const std::string all = e.what();
      CHECK_THAT(all, Contains("8 mistakes"));
      CHECK_THAT(all, Contains("job.json:2: ") && Contains("did you mean 'num_passes'"));
      CHECK_THAT(all, Contains("job.json:3: 'name' must be a text, found the number 5"));
      CHECK_THAT(all, Contains("job.json:4: 'layers' has no key 'inptu' (did you mean 'input'?)"));
      CHECK_THAT(all, Contains("job.json:5: 'layers' lacks 'type'"));
      CHECK_THAT(all, Contains("job.json:6: 'cost' must be a text, found a list"));
      CHECK_THAT(all, Contains("job.json:7: 'optimizer' must be an object"));
      CHECK_THAT(all, Contains("'batch_size' must be a whole number, found the number 2.5"));
      CHECK_THAT(all, Contains("'shuffle' must be true or false, found the text 'yes'"));
    }
  }
  SECTION(
      "tells what is wrong with layers, cost and data beside wrong keys, but not what follows from "
      "them") {
    const std::string bad = R"({
  "inputs": [{"name": "x", "shape": 3}, {"name": "y", "dtyp": "int64"}],
  "layers": [{"type": "fc", "name": "p", "input": "x", "sise": 2},
             {"type": "fcc", "name": "q", "input": "x", "size": 2},
             {"type": "fc", "name": "r", "input": "p", "size": 2},
             {"type": "fc", "name": "s", "input": "nothing", "size": 2},
             {"type": "cross_entropy", "name": "c", "input": "p", "label": "y"}],
  "cost": "c", "evaluators": [{"type": "acuracy", "input": "p", "label": "y"}],
  "optimizer": {"type": "sgd", "learning_rat": 1},
  "data": {"format": "csvv"}
})";
    const std::string all = error_of([&] { parse_job("job.json", bad, "", options); });
    CHECK_THAT(all, Contains("7 mistakes"));
    CHECK_THAT(all, Contains("job.json:2: 'inputs' has no key 'dtyp' (did you mean 'dtype'?)"));
    CHECK_THAT(all, Contains("job.json:3: 'layers' has no key 'sise'"));
    CHECK_THAT(all, Contains("job.json:4: ") && Contains("there is no layer 'fcc'"));
    CHECK_THAT(all, Contains("job.json:6: there is no layer or input 'nothing'"));
    CHECK_THAT(all, Contains("job.json:8: there is no evaluator 'acuracy'"));
    CHECK_THAT(all, Contains("job.json:9: 'optimizer' has no key 'learning_rat'"));
    CHECK_THAT(all, Contains("job.json:10: there is no data format 'csvv' (did you mean 'csv'?)"));
  }
  SECTION("takes null for a key that is left out, and short forms of objects") {
    const std::string source = R"({"inputs": {"name": "x", "shape": null}, "evaluators": null,
      "layers": [{"type": "fc", "bias_attr": false, "param_attr": "w"},
                 {"type": "fc", "param_attr": {"initializer": 0.5}}],
      "cost": "c", "optimizer": {"type": "sgd"}, "data": {"format": "csv"}})";
    const JobFile file = parse_job("job.json", source, "", options);
    CHECK(file.job->inputs[0]->shape.empty());
    CHECK(file.job->layers[0]->param_attr->name == "w");
    CHECK(file.job->layers[1]->param_attr->initializer->value == 0.5f);
    CHECK(file.tree.find("layers")->items[0].find("bias_attr")->text == "false");
  }
  SECTION("refuses numbers without room and lists for options, with their lines") {
    const std::string source = R"({"save_dir": ["a"],
      "inputs": {"name": "x", "lod_level": 3000000000}, "cost": null,
      "layers": {"type": "fc", "seed": -2147483648, "size": 9223372036854775808},
      "optimizer": {"type": "sgd", "learning_rate": 1e39}, "data": {"format": "csv"}})";
    CHECK_THROWS_WITH(
        parse_job("j", source, "", options),
        Contains("5 mistakes") && Contains("j:1: save_dir must be one value, found a list") &&
            Contains("j:2: 'lod_level': 3000000000 is too large") && Contains("lacks 'cost'") &&
            Contains("j:3: 'size': 9223372036854775808 is too large") &&
            Contains("j:4: 'learning_rate': 1e39 is too large"));
  }
  SECTION("lacks nothing silently") {
    CHECK_THROWS_WITH(parse_job("j", "{}", "", options), Contains("lacks 'inputs'") &&
                                                             Contains("lacks 'data'") &&
                                                             Contains("lacks 'cost'"));
    CHECK_THROWS_WITH(parse_job("j", "[]", "", options), Contains("one object"));
  }
}
