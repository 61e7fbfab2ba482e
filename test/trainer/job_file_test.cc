#include "trainer/job_file.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "layers/registry.h"
#include "options/tables.h"
#include "trainer/model.h"
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
  Net net;

  SECTION("is read into types, single values into lists, options into the table") {
    const JobFile file = parse_job("job.json", good, "size=3", options);
    REQUIRE(file.job.inputs.size() == 2);
    CHECK(file.job.inputs[0].shape == Shape{13});
    CHECK(*find(*file.job.layers[0].as<Dict>(), "size")->as<int64_t>() == 3);
    CHECK(make_optimizer(Builder(net), *file.job.optimizer.as<Dict>()).learning_rate.value ==
          0.01f);
    CHECK(file.job.data.spec.batch_size == 20);
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
      CHECK_THAT(all, Contains("10 mistakes"));
      CHECK_THAT(all, Contains("job.json:2:3: ") && Contains("did you mean 'num_passes'"));
      CHECK_THAT(all,
                 Contains("job.json:3:23: 'inputs': 'name' must be a text, found the number 5"));
      CHECK_THAT(all,
                 Contains("job.json:4:29: fc: there is no key 'inptu' (did you mean 'input'?)") &&
                     Contains("job.json:4:14: fc: 'size' is missing"));
      CHECK_THAT(all, Contains("job.json:5:14: 'type' is missing"));
      CHECK_THAT(all, Contains("job.json:6:11: 'cost' must be a text, found the list"));
      CHECK_THAT(all, Contains("job.json:7:16: 'optimizer' must be an object"));
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
    CHECK_THAT(all, Contains("8 mistakes"));
    CHECK_THAT(all,
               Contains("job.json:2:55: 'inputs': there is no key 'dtyp' (did you mean 'dtype'?)"));
    CHECK_THAT(all, Contains("job.json:3:56: fc: there is no key 'sise'"));
    CHECK_THAT(all, Contains("job.json:4:23: ") && Contains("there is no layer 'fcc'"));
    CHECK_THAT(all, Contains("job.json:6:14: there is no layer or input 'nothing'"));
    CHECK_THAT(all, Contains("job.json:8:31: there is no evaluator 'acuracy'"));
    CHECK_THAT(all, Contains("job.json:9:32: optimizer sgd: there is no key 'learning_rat'"));
    CHECK_THAT(all,
               Contains("job.json:10:22: there is no data format 'csvv' (did you mean 'csv'?)"));
  }
  SECTION("takes null for a key that is left out, and short forms of objects") {
    const std::string source = R"({"inputs": {"name": "x", "shape": null}, "evaluators": null,
      "layers": [{"type": "fc", "input": "x", "size": 2, "bias_attr": false, "param_attr": "w"},
                 {"type": "fc", "name": "c", "input": "x", "size": 1, "act": null,
                  "param_attr": {"name": "v", "initializer": 0.5}}],
      "cost": "c", "optimizer": {"type": "sgd", "learning_rate": 1}, "data": {"format": "csv"}})";
    const JobFile file = parse_job("job.json", source, "", options);
    CHECK(file.job.inputs[0].shape == Shape{1});
    const Model model = build_model(file, 1);
    Names parameters;
    for (const Var* v : model.net.main.parameters()) parameters.push_back(v->name);
    CHECK(parameters == Names{"w", "v", "c.b_0"});  // the first has no bias
    for (const auto& op : model.net.startup.global().ops())
      if (op->out.uses("v")) CHECK(op->attrs.get<float>("value") == 0.5f);
  }
  SECTION("refuses numbers without room and lists for options, with their lines") {
    const std::string source = R"({"save_dir": ["a"],
      "inputs": {"name": "x", "lod_level": 3000000000}, "cost": null,
      "layers": [{"type": "dropout", "input": "x", "dropout_prob": 0, "seed": -2147483648},
                 {"type": "fc", "input": "x", "size": 9223372036854775808}],
      "optimizer": {"type": "sgd", "learning_rate": 1e39}, "data": {"format": "csv"}})";
    CHECK_THROWS_WITH(parse_job("j", source, "", options),
                      Contains("5 mistakes") &&
                          Contains("j:1:14: save_dir must be one value, found the list") &&
                          Contains("j:2:44: 'inputs': 'lod_level': 3000000000 is too large") &&
                          Contains("'cost' is missing") &&
                          Contains("j:4:55: fc: 'size': 9223372036854775808 is too large") &&
                          Contains("j:5:53: optimizer sgd: 'learning_rate': 1e39 is too large"));
  }
  SECTION("suggests the type or format whose key is misspelt") {
    const std::string source = R"({"inputs": {"name": "x"}, "cost": "x",
      "layers": {"tipe": "fc"}, "optimizer": {"typ": "sgd"},
      "data": {"fromat": "csv", "header": true}})";
    CHECK_THROWS_WITH(parse_job("j", source, "", options),
                      Contains("6 mistakes") &&
                          Contains("j:2:18: there is no key 'tipe' (did you mean 'type'?)") &&
                          Contains("j:2:47: there is no key 'typ' (did you mean 'type'?)") &&
                          Contains("there is no key 'fromat' (did you mean 'format'?)"));
  }
  SECTION("lacks nothing silently") {
    CHECK_THROWS_WITH(parse_job("j", "{}", "", options), Contains("'inputs' is missing") &&
                                                             Contains("'data' is missing") &&
                                                             Contains("'cost' is missing"));
    CHECK_THROWS_WITH(parse_job("j", "[]", "", options), Contains("one object"));
  }
}
