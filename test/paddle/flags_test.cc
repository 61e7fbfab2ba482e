#include "paddle/flags.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "options/tables.h"
#include "paddle/launch_plan.h"
#include "paddle/run.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

Words role(const Words& words, const Environment& environment) {
  return command_of_role(words, environment);
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

LaunchPlan plan(const Words& words, const Environment& environment = {}) {
  return plan_launch(Options::parse(words, environment, launch_options()), words, environment);
}

const char* const job = R"({
  "num_passes": 7,
  "inputs": [{"name": "x", "shape": 13}, {"name": "y", "shape": 1}],
  "layers": [{"type": "fc", "name": "p", "input": "x", "size": 1},
             {"type": "square_error_cost", "name": "cost", "input": "p", "label": "y"}],
  "cost": "cost",
  "optimizer": {"type": "sgd", "learning_rate": 0.01},
  "data": {"format": "uci_housing", "batch_size": 20}
})";

}  // namespace

TEST_CASE("flags for several programs", "[paddle]") {
  const OptionTable table = with_daemon_options(run_rows());
  std::set<std::string> names;
  for (const Option& option : table) CHECK(names.insert(option.name).second);
  const Words words{"--config=a.json", "--snapshot_dir", "s", "--trainers=2", "--noasync"};
  const CommandLine line = read_command_line(words, table);
  CHECK(line.problems.empty());
  CHECK(flags_for(trainer_options(), line.flags) ==
        Words{"--config=a.json", "--num_gradient_servers=2", "--async=false"});
  Words pserver = flags_for(pserver_options(), line.flags);
  CHECK(pserver == Words{"--snapshot_dir=s", "--num_gradient_servers=2"});
  drop_flag(pserver, "snapshot_dir");
  CHECK(pserver == Words{"--num_gradient_servers=2"});
}

TEST_CASE("paddle run takes its role from the environment", "[paddle]") {
  SECTION("of the quick start") {
    const Environment shared{{"PADDLE_PSERVER_ENDPOINTS", "ps0:7164,ps1:7164"}, {"TRAINERS", "2"}};
    Environment server = shared, trainer = shared;
    server.insert({{"PADDLE_TRAINING_ROLE", "PSERVER"}, {"PADDLE_CURRENT_ENDPOINT", "ps1:7164"}});
    CHECK(role({"--config=a.json"}, server) ==
          Words{"pserver", "--host=ps1", "--port=7164", "--ports_num_for_sparse=0"});
    trainer.insert({{"PADDLE_TRAINING_ROLE", "TRAINER"}, {"TRAINER_ID", "1"}});
    CHECK(role({"--config=a.json"}, trainer) ==
          Words{"trainer", "--config=a.json", "--local=false"});
  }
  SECTION("of the bare-metal guide: the endpoint is of the server also where a trainer has it") {
    Environment environment{{"PSERVERS", "192.168.1.2:6174"},
                            {"SERVER_ENDPOINT", "192.168.1.2:6174"},
                            {"TRAINING_ROLE", "PSERVER"}};
    CHECK(role({"--trainers=2"}, environment) == Words{"pserver", "--num_gradient_servers=2",
                                                       "--host=192.168.1.2", "--port=6174",
                                                       "--ports_num_for_sparse=0"});
    environment["TRAINING_ROLE"] = "TRAINER";
    CHECK(role({"--trainers=2", "--config=x"}, environment) ==
          Words{"trainer", "--num_gradient_servers=2", "--config=x", "--local=false"});
  }
  SECTION("of clouds: address and port are variables that the pserver reads itself") {
    CHECK(role({}, {{"TRAINING_ROLE", "PSERVER"},
                    {"PADDLE_PSERVERS", "10.0.0.1,10.0.0.2"},
                    {"PADDLE_PORT", "6174"},
                    {"POD_IP", "10.0.0.2"}}) == Words{"pserver"});
  }
  SECTION("of scripts with numbers") {
    const Environment server{
        {"IS_WORKER", "0"}, {"CURRENT_ID", "1"}, {"PSERVERS", "a:1,b:2"}, {"WORKER_NUM", "2"}};
    CHECK(role({}, server) == Words{"pserver", "--host=b", "--port=2", "--ports_num_for_sparse=0"});
    CHECK_THROWS_WITH(role({}, {{"IS_WORKER", "0"}, {"CURRENT_ID", "2"}, {"PSERVERS", "a:1,b:2"}}),
                      Contains("this pserver is number 2") && Contains("there are 2 pservers"));
    CHECK(role({"--config=x"}, {{"IS_WORKER", "1"}})[0] == "trainer");
  }
  SECTION("which must be given") {
    CHECK_THROWS_WITH(role({}, {}), Contains("PADDLE_TRAINING_ROLE"));
    CHECK_THROWS_WITH(role({}, {{"TRAINING_ROLE", "MASTER"}}),
                      Contains("role must be PSERVER or TRAINER, not"));
    CHECK_THROWS_WITH(role({}, {{"TRAINING_ROLE", "PSERVER"}, {"SERVER_ENDPOINT", "a:b:c"}}),
                      Contains("SERVER_ENDPOINT"));
  }
}

TEST_CASE("plan of a launch", "[paddle]") {
  const TemporaryDirectory dir;
  const std::string config = dir.path() + "/job.json";
  write_file_atomically(config, job);
  const std::string workspace = "--workspace=" + (dir.path() + "/ws");

  SECTION("every process gets its flags, names and files") {
    const LaunchPlan p = plan({"--config=" + config, workspace, "--server_num=2", "--worker_num=3",
                               "--ports_num=4", "--snapshot_period=5", "--snapshot_dir=s",
                               "--show_curve", "--async", "--v=1", "--event_file=mine"});
    REQUIRE(p.servers.size() == 2);
    REQUIRE(p.workers.size() == 3);
    CHECK(p.passes == 7);
    const Words& server = p.servers[1].arguments;
    CHECK(server[0] == "pserver");
    for (const char* word :
         {"--port=0", "--host=127.0.0.1", "--exit_when_done=true", "--num_gradient_servers=3",
          "--ports_num=4", "--snapshot_period=5", "--v=1", "--ports_num_for_sparse=0"})
      CHECK(has(server, word));
    CHECK(has(server, "--log_dir=" + (dir.path() + "/ws/log/pserver.1")));
    CHECK(has(server, "--snapshot_dir=s/pserver.1"));
    CHECK(has(server, "--event_file=/dev/fd/3"));
    CHECK(p.shards == 4);
    CHECK(p.servers[1].output == dir.path() + "/ws/log/server.1.log");
    CHECK_NOTHROW(Options::parse(std::span(server).subspan(1), {}, pserver_options()));
    const Words& worker = p.workers[2].arguments;
    CHECK(worker[0] == "trainer");
    for (const char* word : {"--trainer_id=2", "--local=false", "--async=true", "--ports_num=1",
                             "--dot_period=0", "--num_gradient_servers=3"})
      CHECK(has(worker, word));
    CHECK(has(worker, "--event_file=/dev/fd/3"));
    CHECK_FALSE(has(worker, "--event_file=mine"));
    CHECK_FALSE(has(worker, "--show_curve=true"));
    CHECK_FALSE(has(worker, "--ports_num=4"));
    CHECK(p.workers[2].output == dir.path() + "/ws/log/train.2.log");
    CHECK_NOTHROW(Options::parse(std::span(worker).subspan(1), {}, trainer_options()));
  }
  SECTION("one of a kind logs where the guides look") {
    const LaunchPlan p =
        plan({"--config=" + config, workspace, "--server_num=1", "--worker_num=1"});
    CHECK(p.servers[0].output == dir.path() + "/ws/log/server.log");
    CHECK(p.workers[0].output == dir.path() + "/ws/log/train.log");
    CHECK(has(p.servers[0].arguments, "--log_dir=" + (dir.path() + "/ws/log")));
  }
  SECTION("mistakes are reported before anything runs") {
    CHECK_THROWS_WITH(plan({"--config=" + config, "--port=1", "--trainer_id=0"}),
                      Contains("2 problems:") && Contains("flag --port: launch gives port"));
    CHECK_THROWS_WITH(plan({}), Contains("there is no job"));
    CHECK_THROWS_WITH(plan({"--config=" + config, "--async", "--half_async"}),
                      Contains("modes contradict each other"));
    CHECK_THROWS_WITH(plan({"--config=" + config, "--servernum=2"}),
                      Contains("did you mean --server_num?"));
    write_file_atomically(config, "{\"num_passes\": \"x\"}");
    CHECK_THROWS_AS(plan({"--config=" + config}), Error);
  }
  SECTION("directories, with the names of the guides") {
    const LaunchPlan p = plan({"--config=" + config, workspace});
    prepare_directories(p);
    write_file_atomically(dir.path() + "/ws/log/trainer.0/paddle_trainer.INFO", "hello");
    write_file_atomically(dir.path() + "/ws/log/pserver.0/paddle_pserver2.INFO", "there");
    CHECK(read_file(dir.path() + "/ws/log/paddle_trainer.INFO", 100) == "hello");
    CHECK(read_file(dir.path() + "/ws/log/paddle_pserver2.INFO", 100) == "there");
  }
}
