#include "options/cluster.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "options/tables.h"

using namespace paddle;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace cluster_test {

Options trainer(const Words& words, const Environment& environment = {}) {
  return Options::parse(words, environment, trainer_options());
}

Cluster cluster(const Words& words, const Environment& environment = {}) {
  return cluster_of(trainer(words, environment));
}

std::string complaint(const Words& words) {
  try {
    cluster(words);
    return "";
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::config);
    return e.what();
  }
}

bool is_local(const Words& words, const Environment& environment = {}) {
  Options options = trainer(words, environment);
  settle_local(options);
  return options.flag("local");
}

TEST_CASE("endpoints", "[options]") {
  SECTION("hosts are expanded by ports, dense ones first") {
    const Cluster two =
        cluster({"--pservers=h1,h2", "--ports_num=2", "--ports_num_for_sparse=1", "--port=7000"});
    CHECK(two.dense == Words{"h1:7000", "h1:7001", "h2:7000", "h2:7001"});
    CHECK(two.sparse == Words{"h1:7002", "h2:7002"});
    CHECK(cluster({}).dense == Words{"127.0.0.1:7164"});
    CHECK(cluster({}).sparse == Words{"127.0.0.1:7165"});
  }
  SECTION("host:port names the first dense port, without sparse ones unless they are asked for") {
    const Cluster fluid = cluster({"--pservers=127.0.0.1:6174,127.0.0.1:6175"});
    CHECK(fluid.dense == Words{"127.0.0.1:6174", "127.0.0.1:6175"});
    CHECK(fluid.sparse.empty());
    const Cluster asked =
        cluster({"--pservers=a:10,b:20", "--ports_num=2", "--ports_num_for_sparse=1"});
    CHECK(asked.dense == Words{"a:10", "a:11", "b:20", "b:21"});
    CHECK(asked.sparse == Words{"a:12", "b:22"});
  }
  SECTION("blanks around commas, mixed forms and IPv6") {
    CHECK(cluster({"--pservers= ps0.x.org:7164 , ps1.x.org\t"}).dense ==
          Words{"ps0.x.org:7164", "ps1.x.org:7164"});
    CHECK(cluster({"--pservers=[::1]:9,[fe80::1]"}).dense == Words{"[::1]:9", "[fe80::1]:7164"});
  }
  SECTION("what is no endpoint is refused, all of it at once") {
    CHECK_THAT(
        complaint({"--pservers=a,,b:0,::1,[::1,c:x,[]:4,[::1]4,a b,a:99999"}),
        Contains("9 problems:") && Contains("'' is empty") && Contains("'b:0' has no port") &&
            Contains("'::1' has several colons; an IPv6 address stands in brackets: [::1]") &&
            Contains("'[::1' has no closing bracket") && Contains("'c:x' has no port") &&
            Contains("'[]:4' has no address") && Contains("'[::1]4' must be") &&
            Contains("'a b' is no host") && Contains("(flag --pservers)"));
    CHECK_THAT(complaint({"--pservers="}), Contains("is empty"));
    CHECK_THAT(complaint({"--pservers=a:65535", "--ports_num=2"}), Contains("go over 65535"));
    CHECK_THAT(complaint({"--pservers=a", "--port=65535"}), Contains("go over 65535"));
    CHECK_THAT(complaint({"--pservers=a", "--port=0"}), Contains("'a' has no port, and port is 0"));
    CHECK(cluster({"--pservers=a:65535"}).dense == Words{"a:65535"});
  }
  SECTION("one port is one shard") {
    CHECK_THAT(complaint({"--pservers=a,a"}), Contains("a:7164 would be two shards at once"));
    CHECK_THAT(complaint({"--pservers=a:5,a:6", "--ports_num=2"}), Contains("a:6 would be two"));
    CHECK_THAT(complaint({"--pservers=a:5,a:6", "--ports_num_for_sparse=1"}),
               Contains("a:6 would be two"));
  }
}

TEST_CASE("cluster", "[options]") {
  SECTION("counts and ids") {
    const Cluster none = cluster({});
    CHECK(none.trainers == 1);
    CHECK_FALSE(none.id_given);
    const Cluster given = cluster({"--trainers=3", "--trainer_id=2"});
    CHECK(given.trainers == 3);
    CHECK(given.trainer_id == 2);
    CHECK(given.id_given);
    CHECK_THAT(complaint({"--trainer_id=1"}),
               Contains("trainer_id is 1 (flag --trainer_id), but num_gradient_servers is 1 "
                        "(default): ids go from 0 to 0"));
    CHECK_THAT(complaint({"--trainer_id=1", "--pservers=a,a", "--sync", "--async"}),
               Contains("4 problems:"));
  }
  SECTION("modes") {
    CHECK(cluster({}).mode == TrainMode::sync);
    CHECK(cluster({"--sync"}).mode == TrainMode::sync);
    CHECK(cluster({"--async"}).mode == TrainMode::async);
    CHECK(cluster({"--sync=false"}).mode == TrainMode::async);
    CHECK(cluster({"--sync_mode=False", "--half_async"}).mode == TrainMode::half_async);
    CHECK(cluster({"--geo=100"}).mode == TrainMode::geo);
    CHECK_THAT(complaint({"--async", "--half_async"}),
               Contains("async (flag --async) and half_async (flag --half_async)"));
    CHECK_THAT(complaint({"--sync", "--geo_steps=4"}), Contains("modes contradict each other"));
  }
  SECTION("the variables of every guide") {
    const Cluster quickstart = cluster({}, {{"PADDLE_PSERVER_ENDPOINTS", "ps0:7164,ps1:7164"},
                                            {"TRAINERS", "2"},
                                            {"TRAINER_ID", "1"}});
    CHECK(quickstart.dense == Words{"ps0:7164", "ps1:7164"});
    CHECK(quickstart.trainers == 2);
    CHECK(quickstart.trainer_id == 1);
    CHECK(cluster({}, {{"PSERVERS", "192.168.1.2:6174"}}).dense == Words{"192.168.1.2:6174"});
    const Cluster ips = cluster({}, {{"PADDLE_PSERVER_IPS", "a,b"},
                                     {"PADDLE_PSERVER_PORT", "6174"},
                                     {"PADDLE_TRAINERS", "2"},
                                     {"PADDLE_TRAINER_ID", "1"}});
    CHECK(ips.dense == Words{"a:6174", "b:6174"});
    CHECK(ips.trainer_id == 1);
    const Cluster fleet = cluster({}, {{"PADDLE_PSERVERS_IP_PORT_LIST", "a:1,b:2"},
                                       {"PADDLE_PSERVERS", "not,this"},
                                       {"PADDLE_TRAINERS_NUM", "4"}});
    CHECK(fleet.dense == Words{"a:1", "b:2"});
    CHECK(fleet.trainers == 4);
    CHECK(cluster({}, {{"PADDLE_PSERVERS", "a"}, {"PADDLE_PORT", "5"}}).dense == Words{"a:5"});
    const Cluster v2 = cluster({}, {{"PADDLE_INIT_USE_GPU", "False"},
                                    {"PADDLE_INIT_TRAINER_COUNT", "1"},
                                    {"PADDLE_INIT_PORT", "7164"},
                                    {"PADDLE_INIT_PORTS_NUM", "1"},
                                    {"PADDLE_INIT_PORTS_NUM_FOR_SPARSE", "1"},
                                    {"PADDLE_INIT_NUM_GRADIENT_SERVERS", "1"},
                                    {"PADDLE_INIT_TRAINER_ID", "0"},
                                    {"PADDLE_INIT_PSERVERS", "127.0.0.1"}});
    CHECK(v2.sparse == Words{"127.0.0.1:7165"});
    const Cluster script = cluster({}, {{"CURRENT_ID", "1"}, {"WORKER_NUM", "2"}});
    CHECK(script.trainer_id == 1);
    const Cluster mpi = cluster({}, {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
    CHECK(mpi.trainer_id == 3);
    CHECK(mpi.trainers == 4);
    CHECK(cluster({}, {{"TRAINERS", "2"}, {"OMPI_COMM_WORLD_SIZE", "9"}}).trainers == 2);
    CHECK(cluster({}, {{"PSERVERS", ""}, {"TRAINERS", ""}}).trainers == 1);
  }
  SECTION("a flag wins over the variables") {
    CHECK(cluster({"--pservers=b"}, {{"PSERVERS", "a"}}).dense == Words{"b:7164"});
  }
}

TEST_CASE("local", "[options]") {
  CHECK(is_local({}));
  CHECK_FALSE(is_local({"--local=false"}));
  CHECK_FALSE(is_local({"--pservers=127.0.0.1"}));
  CHECK_FALSE(is_local({}, {{"PADDLE_PSERVER_ENDPOINTS", "a:1"}}));
  CHECK(is_local({"--local", "--pservers=a"}));
  CHECK_FALSE(is_local({}, {{"PADDLE_CLUSTER_TRAIN", "True"}}));
  CHECK(is_local({}, {{"TRAINERS", "2"}}));
  CHECK_THROWS_WITH(is_local({"--local", "--cluster_train"}), Contains("give one of them"));
  Options options = trainer({"--pservers=a"});
  settle_local(options);
  CHECK(options.source("local") == "pservers are given: flag --pservers");
}

TEST_CASE("pserver table", "[options]") {
  const auto pserver = [](const Words& words, const Environment& environment = {}) {
    return Options::parse(words, environment, pserver_options());
  };
  SECTION("has the defaults of the guides") {
    const Options options = pserver({});
    CHECK(options.integer("port") == 7164);
    CHECK(options.integer("ports_num") == 1);
    CHECK(options.integer("ports_num_for_sparse") == 1);
    CHECK(options.integer("num_gradient_servers") == 1);
    CHECK(options.text("host").empty());
    CHECK_FALSE(options.flag("exit_when_done"));
    CHECK(options.text("on_trainer_loss") == "wait");
  }
  SECTION("lives in one environment with trainers") {
    const Options options =
        pserver({}, {{"PADDLE_INIT_TRAINER_ID", "1"}, {"PADDLE_INIT_PSERVERS", "a"}});
    CHECK(options.integer("port") == 7164);
    CHECK_THROWS_WITH(pserver({}, {{"PADDLE_INIT_PORTT", "1"}}), Contains("PADDLE_INIT_PORT"));
    CHECK(trainer({}, {{"PADDLE_INIT_SNAPSHOT_PERIOD", "7"}}).integer("port") == 7164);
  }
  SECTION("says whose flag it is") {
    CHECK_THROWS_WITH(pserver({"--config=x"}), Contains("it is one of paddle trainer"));
    CHECK_THROWS_WITH(trainer({"--snapshot_dir=x"}), Contains("it is one of paddle pserver"));
  }
  SECTION("checks") {
    CHECK_THROWS_WITH(pserver({"--port=65536", "--on_trainer_loss=drpo", "--ports_num=0"}),
                      Contains("3 problems:") && Contains("did you mean 'drop'?"));
  }
}

}  // namespace cluster_test
