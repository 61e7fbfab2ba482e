#include "paddle/kubernetes.h"

#include "base/error.h"

namespace paddle {
namespace {

// POD_NAME, where the manifest gives it, is right also in pods that use the host's network.
std::string pod_name(const Environment& environment) {
  const std::string name = variable(environment, "POD_NAME");
  return name.empty() ? variable(environment, "HOSTNAME") : name;
}

std::string stable_name(const std::string& service, size_t i, int64_t port) {
  return text(service, "-", i, ".", service, ":", port);
}

}  // namespace

size_t pod_ordinal(const std::string& name) {
  const size_t dash = name.rfind('-');
  const std::string digits = dash == std::string::npos ? "" : name.substr(dash + 1);
  require(
      !digits.empty() && digits.size() < 7 &&
          digits.find_first_not_of("0123456789") == std::string::npos,
      Error::Kind::config, "the pod's name '", name,
      "' does not end with a number: pservers are pods of a StatefulSet, trainers of a Job with "
      "completionMode: Indexed (JOB_COMPLETION_INDEX) or of a StatefulSet");
  return std::stoul(digits);
}

void settle_pod(Options& options, const Environment& environment, bool trainer) {
  const auto count = static_cast<size_t>(options.integer("pservers_num"));
  const std::string& service = options.text("pserver_service");
  if (!options.given("pservers")) {
    require(count > 0, Error::Kind::config,
            "the number of pservers is not known: set PADDLE_PSERVERS_NUM to the replicas of the "
            "StatefulSet '",
            service, "', or give --pservers");
    std::string list;
    for (size_t i = 0; i < count; ++i)
      list += (i > 0 ? "," : "") + stable_name(service, i, options.integer("port"));
    options.replace("pservers", list, "the StatefulSet " + service);
  }
  const std::string index = variable(environment, "JOB_COMPLETION_INDEX"),
                    name = pod_name(environment);
  const bool by_index = trainer && !index.empty();
  if (options.given("trainer_id")) return;
  const size_t number = by_index ? pod_ordinal("-" + index) : pod_ordinal(name);
  options.replace(
      "trainer_id", std::to_string(number),
      by_index ? "environment variable JOB_COMPLETION_INDEX" : "the pod's name " + name);
  require(trainer || count == 0 || number < count, Error::Kind::config, "this pod is ", name,
          ", but there are ", count, " pservers (", options.source("pservers_num"),
          "), numbered from 0");
}

}  // namespace paddle
