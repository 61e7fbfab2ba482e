// schemas/job.fbs against the registry that builds what it describes.
#include <flatbuffers/idl.h>

#include <catch2/catch.hpp>
#include <set>

#include "layers/registry.h"
#include "trainer/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// Values, as JSON, that the registry takes for a type.
std::vector<std::string> values_of(const std::string& type) {
  if (type == "boolean") return {"true", "false"};
  if (type == "integer") return {"3", "-1"};
  if (type == "number") return {"0.5", "2", "1e-3"};
  if (type == "text") return {R"("abc")", "null"};
  if (type == "variable") return {R"("x")"};
  if (type == "variables") return {R"("x")", R"(["x", "y"])"};
  if (type == "element type") return {R"("float32")"};
  if (type == "shape") return {"7", "[2, -1]", "[3000000000, 2]"};
  if (type == "integers") return {"7", "[2, -1]"};
  if (type == "numbers") return {"0.5", "[0.5, 2]"};
  if (type == "integer or pair") return {"3", "[3, 5]"};
  if (type == "parameter")
    return {R"("w")", "false", "null", "{}", R"({"name": "w", "initializer": 0.5, "l2": 1e-4})"};
  if (type == "initializer") return {"0.5", R"({"type": "constant", "value": 1})"};
  if (type == "clip") return {R"({"type": "value", "max": 1})"};
  return {};
}

std::string job_with(const std::string& layer, const std::string& optimizer) {
  return R"({"inputs": {"name": "x"}, "layers": {"type": "t")" + layer +
         R"(}, "cost": "x", "optimizer": {"type": "t")" + optimizer +
         R"(}, "data": {"format": "csv"}})";
}

// Each parameter, with each kind of value that it takes, must pass the schema inside the object
// that `wrap` puts around it.
template <class Wrap>
void check(const std::vector<Parameter>& parameters, const Wrap& wrap) {
  for (const Parameter& p : parameters) {
    const std::vector<std::string> values = values_of(p.type);
    CHECK_FALSE(values.empty());  // a new type needs examples here
    for (const std::string& value : values) {
      const std::string member = ", \"" + p.name + "\": " + value;
      INFO(p.name << " (" << p.type << "): " << value);
      CHECK(error_of([&] { parse(wrap(member)); }) == "");
    }
  }
}

std::set<std::string> fields_of(const flatbuffers::Parser& schema, const std::string& table) {
  std::set<std::string> out;
  const flatbuffers::StructDef* def = schema.LookupStruct("paddle.job." + table);
  REQUIRE(def != nullptr);
  for (const auto* field : def->fields.vec) out.insert(field->name);
  return out;
}

template <class Rows>
std::set<std::string> keys_of(const Rows& rows, std::set<std::string> out) {
  for (const auto& row : rows)
    for (const Parameter& p : parameters_of(row)) out.insert(p.name);
  return out;
}

const auto as_layer = [](const std::string& member) { return job_with(member, ""); };
const auto as_optimizer = [](const std::string& member) { return job_with("", member); };

}  // namespace

TEST_CASE("the schema takes every parameter that the registry takes", "[trainer][schema]") {
  SECTION("of layers") {
    for (const LayerRow& row : layer_rows()) {
      INFO(row.type);
      std::vector<Parameter> parameters = parameters_of(row);
      check(parameters, as_layer);
    }
  }
  SECTION("of optimizers") {
    for (const OptimizerRow& row : optimizer_rows()) {
      INFO(row.type);
      check(parameters_of(row), as_optimizer);
    }
    check({{.name = "gradient_clip", .type = "clip"}}, as_optimizer);
  }
  SECTION("of schedules") {
    for (const ScheduleRow& row : schedule_rows()) {
      INFO(row.type);
      check(parameters_of(row), [](const std::string& member) {
        return job_with("", R"(, "schedule": {"type": "t")" + member + "}");
      });
    }
  }
  SECTION("of initializers, parameters and clips") {
    for (const ObjectRow& row : initializer_rows()) {
      INFO(row.type);
      check(row.parameters, [](const std::string& member) {
        return job_with(R"(, "param_attr": {"initializer": {"type": "t")" + member + "}}", "");
      });
    }
    check(param_attr_parameters(), [](const std::string& member) {
      return job_with(R"(, "bias_attr": {)" + member.substr(2) + "}", "");
    });
    std::vector<Parameter> clip = clip_parameters();
    std::erase_if(clip, [](const Parameter& p) { return p.name == "type"; });
    check(clip, [](const std::string& member) {
      return job_with("", R"(, "gradient_clip": {"type": "t")" + member + "}");
    });
  }
}

TEST_CASE("the registry knows every key of the schema", "[trainer][schema]") {
  flatbuffers::Parser schema;
  REQUIRE(schema.Parse(read_file(source_root() + "/schemas/job.fbs", 1 << 20).c_str()));
  CHECK(fields_of(schema, "Optimizer") ==
        keys_of(optimizer_rows(), {"type", "schedule", "gradient_clip"}));
  CHECK(fields_of(schema, "Schedule") == keys_of(schedule_rows(), {"type"}));
  CHECK(fields_of(schema, "Layer") == keys_of(layer_rows(), {"type", "name"}));
}
