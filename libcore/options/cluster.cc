#include "options/cluster.h"

#include <algorithm>

#include "base/endpoint.h"
#include "base/error.h"

namespace paddle {
namespace {

using Problems = std::vector<std::string>;

std::string stripped(const std::string& word) {
  const size_t first = word.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return word.substr(first, word.find_last_not_of(" \t") + 1 - first);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
    comma = list.find(',', begin);
    out.push_back(stripped(list.substr(begin, comma - begin)));
  }
  return out;
}

// What is wrong with an entry of the list, "" if nothing.
std::string read_entry(const std::string& word, EndpointText& entry) {
  return word.empty() ? "is empty: take the comma out" : read_endpoint(word, entry);
}

// Appends `count` endpoints from `port` on; false where they go over the last port.
bool expand(const std::string& host, int64_t port, int64_t count, std::vector<std::string>& out) {
  for (int64_t i = 0; i < count; ++i) {
    if (port + i > last_port) return false;
    out.push_back(host + ":" + std::to_string(port + i));
  }
  return true;
}

void find_duplicates(const Endpoints& endpoints, Problems& problems) {
  std::vector<std::string> all = endpoints.dense;
  all.insert(all.end(), endpoints.sparse.begin(), endpoints.sparse.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i] == all[i - 1] && (i == 1 || all[i] != all[i - 2]))
      problems.push_back("pservers: " + all[i] +
                         " would be two shards at once; give every pserver ports of its own");
}

Endpoints read_endpoints(const Options& options, Problems& problems) {
  const int64_t dense = options.integer("ports_num"),
                sparse = options.integer("ports_num_for_sparse"), port = options.integer("port");
  Endpoints endpoints;
  for (const std::string& word : split(options.text("pservers"))) {
    EndpointText entry;
    if (const std::string problem = read_entry(word, entry); !problem.empty()) {
      problems.push_back(
          text("pservers: '", word, "' ", problem, " (", options.source("pservers"), ")"));
      continue;
    }
    if (!entry.port && port == 0) {
      problems.push_back(text("pservers: '", word, "' has no port, and port is 0 (",
                              options.source("port"), "); write ", word,
                              ":PORT with the port that the pserver logged"));
      continue;
    }
    const int64_t first = entry.port.value_or(port);
    const std::string host = entry.brackets ? "[" + entry.host + "]" : entry.host;
    const bool with_sparse = !entry.port || options.given("ports_num_for_sparse");
    if (!expand(host, first, dense, endpoints.dense) ||
        !expand(host, first + dense, with_sparse ? sparse : 0, endpoints.sparse))
      problems.push_back(text("pservers: the ports of '", word, "' from ", first,
                              " on go over 65535; take a lower port, or lower ports_num or "
                              "ports_num_for_sparse"));
  }
  find_duplicates(endpoints, problems);
  return endpoints;
}

TrainMode mode_of(const Options& options, Problems& problems) {
  struct Choice {
    const char* name;
    bool chosen;
    TrainMode mode;
  };
  const Choice choices[] = {
      {"sync", options.given("sync") && options.flag("sync"), TrainMode::sync},
      {"async", options.flag("async"), TrainMode::async},
      {"half_async", options.flag("half_async"), TrainMode::half_async},
      {"geo_steps", options.integer("geo_steps") > 0, TrainMode::geo},
  };
  std::string names;
  int count = 0;
  // Without a choice: sync, unless that was taken away.
  TrainMode mode = options.flag("sync") ? TrainMode::sync : TrainMode::async;
  for (const Choice& choice : choices) {
    if (!choice.chosen) continue;
    mode = choice.mode;
    names += text(count++ == 0 ? "" : " and ", choice.name, " (", options.source(choice.name), ")");
  }
  if (count > 1) problems.push_back("modes contradict each other: " + names + "; give one of them");
  return mode;
}

void fail_on(const Problems& problems) {
  if (!problems.empty()) throw Error(Error::Kind::config, problem_list(problems));
}

}  // namespace

Endpoints endpoints_of(const Options& options) {
  Problems problems;
  Endpoints endpoints = read_endpoints(options, problems);
  fail_on(problems);
  return endpoints;
}

Cluster cluster_of(const Options& options) {
  Problems problems;
  Endpoints endpoints = read_endpoints(options, problems);
  Cluster cluster;
  cluster.dense = std::move(endpoints.dense);
  cluster.sparse = std::move(endpoints.sparse);
  cluster.trainers = static_cast<uint32_t>(options.integer("num_gradient_servers"));
  cluster.trainer_id = static_cast<uint32_t>(options.integer("trainer_id"));
  cluster.id_given = options.given("trainer_id");
  cluster.mode = mode_of(options, problems);
  if (cluster.trainer_id >= cluster.trainers)
    problems.push_back(text("trainer_id is ", cluster.trainer_id, " (",
                            options.source("trainer_id"), "), but num_gradient_servers is ",
                            cluster.trainers, " (", options.source("num_gradient_servers"),
                            "): ids go from 0 to ", cluster.trainers - 1));
  fail_on(problems);
  return cluster;
}

void settle_local(Options& options) {
  const bool cluster_train = options.flag("cluster_train");
  if (options.given("local")) {
    require(!cluster_train || !options.flag("local"), Error::Kind::config, "local is true (",
            options.source("local"), ") and cluster_train is true (",
            options.source("cluster_train"), "); give one of them");
    return;
  }
  if (options.given("cluster_train"))
    options.replace("local", cluster_train ? "false" : "true", options.source("cluster_train"));
  else if (options.given("pservers"))
    options.replace("local", "false", "pservers are given: " + options.source("pservers"));
}

CredentialFiles credential_files(const Options& o) {
  return {o.text("token_file"), o.text("cert_file"), o.text("key_file"), o.text("ca_file")};
}

}  // namespace paddle
