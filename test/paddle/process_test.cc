#include "paddle/process.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"

using namespace paddle;

namespace {

struct Shell {
  ProcessGroup group;
  std::string said, events;
  Process& start(const std::string& script) {
    return group.start({.name = "sh",
                        .arguments = {"/bin/sh", "-c", script},
                        .output = [this](std::string_view b) { said += b; },
                        .events = [this](std::string_view b) { events += b; }});
  }
  void finish(const Process& process) {
    while (process.running()) group.wait(std::chrono::seconds(10));
  }
};

}  // namespace

TEST_CASE("processes", "[paddle]") {
  Shell shell;
  SECTION("say something and end") {
    const Process& p = shell.start("echo out; echo err >&2; exit 3");
    shell.finish(p);
    CHECK(shell.said == "out\nerr\n");
    CHECK(p.code() == 3);
    CHECK(p.killed_by() == 0);
  }
  SECTION("much output comes whole, also what is written just before the end") {
    const Process& p = shell.start(
        "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); "
        "done");
    shell.finish(p);
    CHECK(shell.said.size() == 3000 * 41);
  }
  SECTION("have nothing to read, a process group of their own and the usual signals") {
    const Process& p = shell.start("cat; cut -d ' ' -f 5 /proc/$$/stat; echo $$; kill -TERM $$");
    shell.finish(p);
    const size_t newline = shell.said.find('\n');
    CHECK(shell.said == shell.said.substr(0, newline + 1) + shell.said.substr(0, newline + 1));
    CHECK(p.killed_by() == SIGTERM);
    CHECK(p.code() == 143);
  }
  SECTION("can be asked to end") {
    const Process& p =
        shell.start("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    while (shell.said.empty()) shell.group.wait(std::chrono::seconds(10));
    p.send(SIGTERM);
    shell.finish(p);
    CHECK(shell.said == "ready\nbye\n");
    CHECK(p.code() == 0);
  }
  SECTION("that cannot be executed fail") {
    const Process& p = shell.group.start(
        {"x", {"/no/such/program"}, [&](std::string_view b) { shell.said += b; }});
    shell.finish(p);
    CHECK(p.code() == 1);
    CHECK(shell.said == "cannot execute the program of this command\n");
  }
  SECTION("events come on a descriptor of their own") {
    const Process& p = shell.start("echo hello; echo '{}' >/dev/fd/3; echo '{1}' >&3");
    shell.finish(p);
    CHECK(shell.said == "hello\n");
    CHECK(shell.events == "{}\n{1}\n");
  }
  SECTION("without a reader of events the descriptor is closed") {
    const Process& p = shell.group.start({.name = "sh",
                                          .arguments = {"/bin/sh", "-c", "echo x 2>&- >&3"},
                                          .output = [&](std::string_view b) { shell.said += b; }});
    shell.finish(p);
    CHECK(p.code() != 0);
  }
  SECTION("wait() ends when its time is over") {
    shell.start("sleep 100");
    shell.group.wait(std::chrono::milliseconds(1));
    CHECK(shell.said.empty());
  }
}

TEST_CASE("processes do not outlive their parent", "[paddle]") {
  // A child of ours starts a shell, prints its number and is killed at once.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    Shell shell;
    shell.start("echo $$; exec sleep 1000");
    while (shell.said.empty()) shell.group.wait(std::chrono::seconds(10));
    if (::write(ends[1], shell.said.data(), shell.said.size()) < 0) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  char number[32] = "";
  REQUIRE(::read(ends[0], number, sizeof number - 1) > 0);
  REQUIRE(::waitpid(parent, nullptr, 0) == parent);
  const pid_t shell = static_cast<pid_t>(std::atoi(number));
  REQUIRE(shell > 1);
  // Its new parent reaps it some time; until then it is dead all the same.
  const auto alive = [&] {
    try {
      const std::string stat = read_file("/proc/" + std::to_string(shell) + "/stat", 4096);
      return stat.at(stat.rfind(')') + 2) != 'Z';
    } catch (const Error&) {
      return false;
    }
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (alive() && std::chrono::steady_clock::now() < deadline) ::sched_yield();
  CHECK_FALSE(alive());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("the running program", "[paddle]") { CHECK(is_file(own_executable())); }
