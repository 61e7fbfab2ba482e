#include "trainer/model.h"

#include <catch2/catch.hpp>

#include "trainer/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace model_test {

// Line 2: inputs, 3 and 4: layers, 5: cost, 6: evaluators, 7: optimizer.
std::string job_of(const std::string& first, const std::string& second,
                   const std::string& cost = "c", const std::string& evaluators = "[]",
                   const std::string& optimizer = R"({"type": "sgd", "learning_rate": 0.1})") {
  return R"({
"inputs": [{"name": "x", "shape": 3}, {"name": "y", "dtype": "int64"}],
"layers": [)" +
         first + ",\n" + second + "],\n\"cost\": \"" + cost + "\",\n\"evaluators\": " + evaluators +
         ",\n\"optimizer\": " + optimizer + ",\n\"data\": {\"format\": \"csv\"}}";
}

const std::string softmax =
    R"({"type": "fc", "name": "p", "input": "x", "size": 2, "act": "softmax"})";
const std::string entropy = R"({"type": "cross_entropy", "name": "c", "input": "p", "label": "y"})";

std::string error_of_job(const std::string& source) {
  return error_of([&] { build_model(parse(source), 1); });
}

size_t mistakes(const std::string& message) {
  size_t count = 0;
  for (size_t at = 0; (at = message.find("job.json:", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_CASE("every ready job builds", "[trainer][model]") {
  const std::string dir = source_root() + "/configs";
  int jobs = 0;
  for (const std::string& name : list_directory(dir)) {
    if (!name.ends_with(".json")) continue;
    INFO(name);
    ++jobs;
    Options options = Options::parse({}, {}, trainer_options());
    const JobFile file = read_job(dir + "/" + name, "", options);
    const Model model = build_model(file, 1);
    CHECK_FALSE(model.params.empty());
    CHECK_FALSE(model.outputs.empty());
    CHECK(model.inputs.size() == file.job.inputs.size());
    size_t numbers = 1;  // the cost
    for (const Evaluator& e : model.evaluators) numbers += e.numbers();
    CHECK(model.fetches().size() == numbers);
    CHECK(model.net.main.global().ops().size() > model.test.global().ops().size());
    CHECK(build_model(file, 1).digest == model.digest);
    CHECK(build_model(file, 1, ModelKind::differentiates).digest != model.digest);
  }
  CHECK(jobs >= 5);
}

TEST_CASE("every evaluator builds", "[trainer][model]") {
  const std::string type = GENERATE("accuracy", "classification_error", "auc", "mean");
  const Model model = build_model(
      parse(job_of(softmax, entropy, "c",
                   R"({"type": ")" + type + R"(", "name": "e", "input": "p", "label": "y"})")),
      1);
  REQUIRE(model.evaluators.size() == 1);
  const Evaluator& e = model.evaluators[0];
  CHECK(e.name == "e");
  CHECK(model.net.main.global().find(e.var) != nullptr);
  CHECK(e.inverted == (type == "classification_error"));
  CHECK(e.running == (type == "auc"));
  CHECK(e.states.empty() == (type != "auc"));
}

TEST_CASE("mistakes of a model are told with their lines", "[trainer][model]") {
  SECTION("an unknown layer") {
    const std::string e = error_of_job(job_of(softmax, R"({"type": "cros_entropy", "name": "c"})"));
    CHECK_THAT(e, Contains("job.json:4:") && Contains("did you mean 'cross_entropy'?"));
    CHECK(mistakes(e) == 1);
  }
  SECTION("two layers of one name") {
    const std::string e = error_of_job(job_of(softmax, softmax, "p"));
    CHECK_THAT(e, Contains("job.json:4:1: the name 'p' is taken"));
    CHECK(mistakes(e) == 1);
  }
  SECTION("a layer with the name of an input") {
    CHECK_THAT(error_of_job(job_of(R"({"type": "relu", "name": "x", "input": "x"})", entropy)),
               Contains("job.json:3:12: the name 'x' is taken"));
  }
  SECTION("a cost that is not there") {
    const std::string e = error_of_job(job_of(softmax, entropy, "cc"));
    CHECK_THAT(e, Contains("job.json:5:9: there is no layer or input 'cc' for the cost") &&
                      Contains("did you mean 'c'?"));
    CHECK(mistakes(e) == 1);
  }
  SECTION("an input among the layers") {
    CHECK_THAT(error_of_job(job_of(softmax, R"({"type": "data", "name": "z", "shape": 1})", "p")),
               Contains("job.json:4:1: an input stands under 'inputs'"));
  }
  SECTION("an evaluator without label, without input, of no type") {
    CHECK_THAT(error_of_job(job_of(softmax, entropy, "c", R"({"type": "auc", "input": "p"})")),
               Contains("job.json:6:15: the evaluator auc needs a 'label'"));
    CHECK_THAT(error_of_job(job_of(softmax, entropy, "c", R"({"type": "mean"})")),
               Contains("job.json:6:15: the evaluator mean needs an 'input'"));
    CHECK_THAT(
        error_of_job(job_of(softmax, entropy, "c", R"({"type": "acuracy", "input": "p"})")),
        Contains("job.json:6:15: there is no evaluator 'acuracy' (did you mean 'accuracy'?)"));
  }
  SECTION("an optimizer with a key of another one") {
    CHECK_THAT(error_of_job(job_of(softmax, entropy, "c", "[]",
                                   R"({"type": "sgd", "learning_rate": 0.1, "momentum": 0.9})")),
               Contains("job.json:7:52: optimizer sgd: there is no key 'momentum'"));
  }
  SECTION("a cost without parameters") {
    CHECK_THAT(error_of_job(job_of(R"({"type": "relu", "name": "r", "input": "x"})",
                                   R"({"type": "mean", "name": "c", "input": "r"})")),
               Contains("job.json:7:") && Contains("parameter"));
  }
}

TEST_CASE("all mistakes of a model are told at once", "[trainer][model]") {
  const std::string e = error_of_job(
      job_of(softmax + "," + softmax, R"({"type": "cros_entropy", "name": "d", "input": "p"})", "q",
             R"({"type": "accuracy", "input": "p"})", R"({"type": "sgd", "beta1": 0.5})"));
  INFO(e);
  CHECK_THAT(e, Contains("5 mistakes"));
  CHECK_THAT(e, Contains("job.json:3:83: the name 'p' is taken"));
  CHECK_THAT(e, Contains("job.json:4:") && Contains("there is no layer 'cros_entropy'"));
  CHECK_THAT(e, Contains("job.json:5:9: there is no layer or input 'q' for the cost"));
  CHECK_THAT(e, Contains("job.json:6:15: the evaluator accuracy needs a 'label'"));
  CHECK_THAT(e, Contains("job.json:7:") && Contains("there is no key 'beta1'"));
}

TEST_CASE("what builds on a failed layer is not told again", "[trainer][model]") {
  const std::string broken = R"({"type": "fc", "name": "p", "input": "x"})";  // lacks its size
  const std::string follower =
      GENERATE(R"({"type": "softmax", "name": "c", "input": "p"})",
               R"({"type": "elementwise_add", "name": "c", "x": "x", "y": "p"})",
               R"({"type": "elementwise_add", "name": "c", "x": "p.1", "y": "x"})",
               R"({"type": "square_error_cost", "name": "c", "input": "x", "label": "p"})",
               R"({"type": "concat", "name": "c", "input": ["x", "p"]})",
               R"({"type": "gather", "name": "c", "input": "x", "index": "p"})");
  const std::string e = error_of_job(
      job_of(broken, follower, "c", R"({"type": "accuracy", "input": "p", "label": "c"})"));
  INFO(e);
  CHECK(mistakes(e) == 1);
  CHECK_THAT(e, Contains("job.json:3:12: fc: 'size' is missing"));
}

}  // namespace model_test
