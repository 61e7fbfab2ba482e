#include "paddle/nodes.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/file.h"
#include "options/tables.h"
#include "paddle/host_list.h"
#include "paddle/kubernetes.h"
#include "paddle/launch_hosts.h"
#include "paddle/launch_plan.h"
#include "paddle/run.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

Options launch_flags(const Words& words) { return Options::parse(words, {}, launch_options()); }

}  // namespace

TEST_CASE("lists of hosts as Slurm writes them", "[paddle]") {
  CHECK(expand_hosts("a") == Words{"a"});
  CHECK(expand_hosts("a,b") == Words{"a", "b"});
  CHECK(expand_hosts("n[1-3]") == Words{"n1", "n2", "n3"});
  CHECK(expand_hosts("n[08-10,2],x[5]y") == Words{"n08", "n09", "n10", "n2", "x5y"});
  CHECK(expand_hosts("r[1-2]n[01-02]") == Words{"r1n01", "r1n02", "r2n01", "r2n02"});
  CHECK(expand_hosts("").empty());
  for (const char* bad : {"n[1-3", "n1-3]", "n[3-1]", "n[a-b]", "n[]x[1", "n[1-99999999999]"})
    CHECK_THROWS_AS(expand_hosts(bad), Error);
}

TEST_CASE("the machines of a launch", "[paddle]") {
  SECTION("are this one unless others are named") {
    CHECK_FALSE(nodes_of(launch_flags({}), {}));
    const auto nodes = nodes_of(launch_flags({"--nodes=a, b,c", "--node_rank=2"}), {});
    REQUIRE(nodes);
    CHECK(nodes->names == Words{"a", "b", "c"});
    CHECK(nodes->own() == "c");
    CHECK_THROWS_WITH(nodes_of(launch_flags({"--nodes=a,b", "--node_rank=2"}), {}),
                      Contains("names 2 machines"));
  }
  SECTION("come from srun, one task each") {
    Environment env{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"SLURM_JOB_NODELIST", "n[1-3]"}};
    const auto nodes = nodes_of(launch_flags({"--slurm"}), env);
    REQUIRE(nodes);
    CHECK(nodes->own() == "n2");
    env["SLURM_STEP_NODELIST"] = "n[2-3]";  // of a part of the allocation
    CHECK_THROWS_WITH(nodes_of(launch_flags({"--slurm"}), env), Contains("--ntasks-per-node=1"));
    env["SLURM_NTASKS"] = "2";
    CHECK(nodes_of(launch_flags({"--slurm"}), env)->own() == "n3");
    CHECK_THROWS_WITH(nodes_of(launch_flags({"--slurm"}), {}), Contains("SLURM_PROCID is not set"));
    CHECK_THROWS_AS(nodes_of(launch_flags({"--slurm", "--nodes=a"}), env), Error);
  }
}

TEST_CASE("hosts to reach by ssh", "[paddle]") {
  SECTION("have a user, a name and a port") {
    const auto hosts = hosts_of(launch_flags({"--hosts=a, root@b:2222"}));
    REQUIRE(hosts.size() == 2);
    CHECK(hosts[0].target == "a");
    CHECK(hosts[0].port.empty());
    CHECK(hosts[1].target == "root@b");
    CHECK(hosts[1].name == "b");
    CHECK(hosts[1].port == "2222");
  }
  SECTION("come from a file with comments and slots") {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() + "/h", "# nodes\na slots=2\n\nb # second\n");
    const auto hosts = hosts_of(launch_flags({"--hostfile=" + directory.path() + "/h"}));
    REQUIRE(hosts.size() == 2);
    CHECK(hosts[1].name == "b");
  }
  SECTION("are refused where they could be options, or are twice there") {
    CHECK_THROWS_WITH(hosts_of(launch_flags({"--hosts=-oProxyCommand=x,a,u@a:3,b:x"})),
                      Contains("3 problems"));
    CHECK_THROWS_AS(hosts_of(launch_flags({"--hosts=,"})), Error);
    CHECK_THROWS_AS(hosts_of(launch_flags({"--hosts=a", "--hostfile=b"})), Error);
  }
  SECTION("get a command in which nothing is for the shell but what is meant") {
    const Words words{"--hosts=a,b", "--config=my job.json", "--comment=it's $(x)", "--ssh=ssh -v",
                      "--ui_port=80"};
    const Options options = launch_flags(words);
    const std::string command = remote_command(hosts_of(options), 1, options, words,
                                               {{"PADDLE_INIT_V", "1"}, {"HOME", "/x"}}, "/w s");
    CHECK(
        command ==
        "cd '/w s' && exec 3>&1 1>&2 && exec 'env' 'PADDLE_INIT_V=1' 'paddle' 'launch' "
        "'--config=my job.json' '--comment=it'\\''s $(x)' '--token_with_input=true' '--nodes=a,b' "
        "'--node_rank=1' '--stop_with_input=true' '--event_file=/dev/fd/3' '--ui_port=-1'");
  }
}

TEST_CASE("the starter of a launch", "[paddle]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  InputWatch watch(ends[0]);
  CHECK(watch.gone(100).empty());
  REQUIRE(::write(ends[1], "\n", 1) == 1);
  CHECK(watch.gone(110).empty());
  CHECK(watch.gone(124).empty());
  CHECK_THAT(watch.gone(126), Contains("nothing heard for 15 s"));
  ::close(ends[1]);
  CHECK_THAT(watch.gone(111), Contains("ended"));
  ::close(ends[0]);
}

TEST_CASE("a pod of a job", "[paddle]") {
  CHECK(pod_ordinal("pserver-12") == 12);
  CHECK_THROWS_WITH(pod_ordinal("pserver"), Contains("StatefulSet"));
  const auto command = [](Environment env) {
    return command_of_role(Words{"--kubernetes", "--config=j.json"}, env);
  };
  Environment env{{"TRAINING_ROLE", "TRAINER"},  {"PADDLE_PSERVERS_NUM", "2"},
                  {"PADDLE_TRAINERS_NUM", "2"},  {"PADDLE_PSERVER_SERVICE", "ctr-pserver"},
                  {"JOB_COMPLETION_INDEX", "1"}, {"HOSTNAME", "ctr-trainer-1-x7k2p"}};
  SECTION("is a trainer by its completion index, with the pservers' stable names") {
    const Words words = command(env);
    CHECK(words[0] == "trainer");
    CHECK_THAT(words,
               Catch::VectorContains(std::string(
                   "--pservers=ctr-pserver-0.ctr-pserver:7164,ctr-pserver-1.ctr-pserver:7164")));
    CHECK_THAT(words, Catch::VectorContains(std::string("--trainer_id=1")));
  }
  SECTION("is a pserver on all addresses") {
    env["TRAINING_ROLE"] = "PSERVER";
    env["POD_NAME"] = "ctr-pserver-1";
    CHECK(command(env) == Words{"pserver", "--ports_num_for_sparse=0"});
    env["POD_NAME"] = "ctr-pserver-2";
    CHECK_THROWS_WITH(command(env), Contains("there are 2 pservers"));
  }
  SECTION("says what it lacks") {
    env.erase("PADDLE_PSERVERS_NUM");
    CHECK_THROWS_WITH(command(env), Contains("PADDLE_PSERVERS_NUM"));
    env["PADDLE_PSERVERS_NUM"] = "2";
    env.erase("JOB_COMPLETION_INDEX");
    CHECK_THROWS_WITH(command(env), Contains("JOB_COMPLETION_INDEX"));
  }
}
