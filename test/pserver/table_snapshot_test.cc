// Parts of sparse tables: snapshots and memory.
#include <unistd.h>

#include "base/file.h"
#include "exec/table_store.h"
#include "pserver/table_job.h"

namespace table_snapshot_test {

using namespace paddle;
using namespace paddle::table_test;
using Catch::Matchers::Contains;

TEST_CASE("rows survive a crash: snapshots hold tables, and rounds go on to the same bits") {
  const TableSpec spec = spec_of("adam");
  MemoryDisk disk;
  ShardOptions options;
  options.snapshots = {.directory = "memory", .period = 4, .keep = 3};
  Reference expected(spec);
  {
    Two job(table_job(spec), wire::Mode::sync, options, &disk);
    for (uint64_t step = 0; step < 7; ++step)
      for (uint32_t t = 0; t < 2; ++t) {
        job.push(t, step);
        job.push_slice(t, step);
      }
  }
  REQUIRE(disk.kept.count(4) == 1);
  for (uint64_t step = 0; step < 4; ++step) expected.step(step, {0, 1});
  PlainShard shard(options, &disk);
  PeerId peers[2];
  for (uint32_t t = 0; t < 2; ++t) peers[t] = shard.greet(t, 2, wire::Mode::sync, 9000 + t);
  for (const PeerId p : peers) shard.say(p, wire::Join{0, 4});
  shard.pull_rows(peers[0], table_id, 4, looked_at);
  CHECK(shard.last_reply().values() == expected.pull(looked_at));
  for (uint64_t step = 4; step < 9; ++step) {
    for (uint32_t t = 0; t < 2; ++t) {
      const Ids ids = ids_of(t, step);
      shard.push_rows(peers[t], table_id, step, ids, grads_of(t, step, ids));
    }
    expected.step(step, {0, 1});
  }
  shard.pull_rows(peers[1], table_id, 9, looked_at);
  CHECK(shard.last_reply().values() == expected.pull(looked_at));
}

TEST_CASE("a snapshot on the disk holds tables, and damage to them is found") {
  const TableSpec spec = spec_of("adagrad");
  MemoryDisk disk;
  ShardOptions options;
  options.snapshots = {.directory = "memory", .period = 2, .keep = 3, .changes = {.most = 0}};
  Two job(table_job(spec), wire::Mode::async, options, &disk);
  for (uint64_t step = 0; step < 3; ++step)
    for (uint32_t t = 0; t < 2; ++t) {
      job.push(t, step);
      job.push_slice(t, step);
    }
  REQUIRE(!disk.kept.empty());
  Snapshot& made = disk.kept.rbegin()->second;
  REQUIRE(made.tables.size() == 1);
  CHECK(made.tables[0].steps.size() == 2);
  char name[] = "/tmp/paddle_table_snapshot_XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  const std::string directory = std::string(name) + "/step-000000000002";
  write_snapshot(directory, made);
  const Snapshot back = read_snapshot(directory);
  REQUIRE(back.tables.size() == 1);
  REQUIRE(back.tables[0].dump->parts() == made.tables[0].dump->parts());
  for (size_t i = 0; i < made.tables[0].dump->parts(); ++i)
    CHECK(back.tables[0].dump->read(i) == made.tables[0].dump->read(i));
  CHECK(back.tables[0].version == made.tables[0].version);
  CHECK(back.tables[0].steps == made.tables[0].steps);
  CHECK(back.tables[0].info.spec.settings == spec.settings);
  const std::string file = directory + "/table-0";
  std::FILE* f = std::fopen(file.c_str(), "r+");
  std::fseek(f, 100, SEEK_SET);
  std::fputc(0x5a, f);
  std::fclose(f);
  CHECK_THROWS_WITH(read_snapshot(directory), Contains("table-0") && Contains("checksum"));
  REQUIRE(::truncate(file.c_str(), 90) == 0);
  CHECK_THROWS_WITH(read_snapshot(directory), Contains("table-0") && Contains("manifest says"));
  remove_tree("/tmp", std::string(name).substr(5));
}

TEST_CASE("memory for rows is taken from the pserver's limit before it is used") {
  ShardOptions options;
  options.memory = std::make_shared<PserverMemory>(uint64_t{48} << 20);
  const TableSpec spec = spec_of("sgd", 64);
  PlainShard shard(options);
  const PeerId peer = shard.greet(0, 1, wire::Mode::async);
  shard.configure(peer, table_job(spec));
  shard.say(peer, wire::Join{0, 0});
  uint64_t next = 1, step = 0;
  for (; step < 200; ++step) {
    Ids ids(4000);
    for (uint64_t& id : ids) id = next++;
    shard.push_rows(peer, table_id, step, ids, Floats(ids.size() * 64, 1.0f));
    CHECK(options.memory->whole.held() <= options.memory->whole.limit());
    if (!shard.last_reply().is<wire::Values>()) break;
  }
  CHECK(step > 5);
  CHECK(step < 60);
  CHECK_THAT(shard.last_failure(), Contains("the table 'emb' has") && Contains("--memory_limit"));
  shard.close(peer);
}

TEST_CASE("rows that were not updated for long go, beside training") {
  TableSpec spec = spec_of("sgd");
  spec.expire_unseen_steps = 5;
  PlainShard shard;
  const PeerId peer = shard.greet(0, 1, wire::Mode::async);
  shard.configure(peer, table_job(spec));
  shard.say(peer, wire::Join{0, 0});
  for (uint64_t step = 0; step < 40; ++step)
    shard.push_rows(peer, table_id, step, {step, 1000}, Floats(6, 1.0f));
  CHECK(shard.shard.status(shard.now).tables.at(0).rows == 41);
  shard.tick();
  const wire::TableStatus after = shard.shard.status(shard.now).tables.at(0);
  CHECK(after.rows < 10);
  CHECK(after.expired == 41 - after.rows);
  CHECK(after.created == 41);
  shard.pull_rows(peer, table_id, 0, {1000});
  Floats first(3);
  Table(table_options(spec)).pull(Ids{1000}, first.data());
  CHECK(shard.last_reply().values() != first);  // it was updated in every step
}

}  // namespace table_snapshot_test
