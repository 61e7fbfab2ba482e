#include <catch2/catch.hpp>

#include "base/byte_budget.h"
#include "base/file.h"
#include "base/machine_memory.h"
#include "support/temporary.h"

using namespace paddle;

TEST_CASE("a memory budget", "[base]") {
  ByteBudget whole(100), part(40, &whole);
  SECTION("gives what is left and no more") {
    CHECK(whole.take(60));
    CHECK_FALSE(whole.take(41));
    CHECK_FALSE(whole.take(~uint64_t{0}));
    CHECK(whole.held() == 60);
    whole.give(60);
    CHECK(whole.take(100));
    CHECK(whole.used_up());
  }
  SECTION("that is a part takes from the whole as well, all or nothing") {
    CHECK(part.take(30));
    CHECK(whole.held() == 30);
    CHECK_FALSE(part.take(20));
    CHECK(whole.take(65));
    CHECK_FALSE(part.take(10));
    CHECK(part.held() == 30);
    CHECK(whole.held() == 95);
    part.give(30);
    CHECK(whole.held() == 65);
  }
  SECTION("counts what is taken anyway") {
    part.take_anyway(200);
    CHECK(whole.held() == 200);
    CHECK(part.used_up());
    CHECK_FALSE(whole.take(1));
    part.give(200);
    CHECK(whole.take(1));
  }
  SECTION("gets back what an owner had claimed") {
    {
      ByteClaim claim(&part);
      CHECK(claim.add(10));
      ByteClaim moved(std::move(claim));
      CHECK(moved.add(10));
      CHECK_FALSE(moved.add(30));
      CHECK(moved.bytes() == 20);
      moved.remove(5);
      CHECK(part.held() == 15);
    }
    CHECK(part.held() == 0);
    CHECK(whole.held() == 0);
    ByteClaim free;
    CHECK(free.add(~uint64_t{0}));
  }
}

TEST_CASE("amounts of memory", "[base]") {
  CHECK(parse_memory("1048576", 0) == 1u << 20);
  CHECK(parse_memory("64k", 0) == 64u << 10);
  CHECK(parse_memory("64M", 0) == 64u << 20);
  CHECK(parse_memory("1.5g", 0) == 3u << 29);
  CHECK(parse_memory("2t", 0) == uint64_t{2} << 40);
  CHECK(parse_memory("75%", 1000) == 750);
  for (const char* wrong : {"", "m", "5x", "-1", "1e3", "10 m", "10mb", "nan", "inf", "%", "0",
                            "99999999999999999999", "0.1k%"})
    CHECK_FALSE(parse_memory(wrong, 1000));
  CHECK(memory_text(999) == "999 B");
  CHECK(memory_text(3u << 29) == "1.5 GiB");
  CHECK(memory_text(200u << 20) == "200 MiB");
}

TEST_CASE("the memory of a machine is that of its control group where it has less", "[base]") {
  const TemporaryDirectory dir;
  const std::string proc = dir.path() + "/proc", sys = dir.path() + "/sys";
  const uint64_t all = machine_memory(proc, sys);
  CHECK(all > 0);
  const auto put = [](const std::string& path, const std::string& text) {
    make_directories(path.substr(0, path.rfind('/')));
    write_file_atomically(path, text);
  };
  SECTION("version 2, and groups above it") {
    put(proc + "/self/cgroup", "0::/jobs/one\n");
    put(sys + "/fs/cgroup/jobs/one/memory.max", "max\n");
    CHECK(machine_memory(proc, sys) == all);
    put(sys + "/fs/cgroup/jobs/memory.max", "67108864\n");
    CHECK(machine_memory(proc, sys) == 64u << 20);
    put(sys + "/fs/cgroup/jobs/one/memory.max", "33554432\n");
    CHECK(machine_memory(proc, sys) == 32u << 20);
  }
  SECTION("in a container that sees its own group only") {
    put(proc + "/self/cgroup", "0::/\n");
    put(sys + "/fs/cgroup/memory.max", "50331648\n");
    CHECK(machine_memory(proc, sys) == 48u << 20);
  }
  SECTION("version 1") {
    put(proc + "/self/cgroup", "5:cpu,memory:/job\n1:name=systemd:/x\n");
    put(sys + "/fs/cgroup/memory/memory.limit_in_bytes", "16777216\n");
    CHECK(machine_memory(proc, sys) == 16u << 20);
    put(sys + "/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(machine_memory(proc, sys) == all);
  }
}
