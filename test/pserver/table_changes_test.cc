// Snapshots that hold what changed in a table since an earlier one: in real directories, restored,
// damaged, without what they were added to.
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "exec/table_store.h"
#include "pserver/table_job.h"
#include "support/temporary.h"

namespace table_changes_test {

using namespace paddle;
using namespace paddle::table_test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

constexpr uint64_t period = 2;

struct Run {
  explicit Run(const std::string& rule = "adam", ChangesLimits limits = {.most = 3, .share = 1e9},
               uint32_t unseen_steps = 0)
      : spec(spec_of(rule)) {
    spec.expire_unseen_steps = unseen_steps;
    options.snapshots = {.directory = "memory", .period = period, .keep = 3, .changes = limits};
    disk.directory = directory.path();
    job.emplace(table_job(spec), wire::Mode::sync, options, &disk);
  }
  void steps(uint64_t count) {
    for (; count > 0; --count, ++step)
      for (uint32_t t = 0; t < 2; ++t) {
        job->push(t, step);
        job->push_slice(t, step);
      }
  }
  uint64_t digest_at(uint64_t at) const {
    Reference expected(spec);
    for (uint64_t s = 0; s < at; ++s) expected.step(s, {0, 1});
    return expected.table().digest();
  }
  std::string path(uint64_t at) const { return directory.path() + "/" + snapshot_name(at); }
  uint64_t digest_of(uint64_t at) const {
    const Snapshot s = read_snapshot(path(at));
    Table table(table_options(spec));
    for (size_t i = 0; i < s.tables[0].dump->parts(); ++i)
      table.load_part(s.tables[0].dump->read(i));
    return table.digest();
  }
  size_t dumps_of(uint64_t at) const { return read_snapshot(path(at)).tables[0].dumps.size(); }

  const TemporaryDirectory directory;
  TableSpec spec;
  ShardOptions options;
  MemoryDisk disk;
  std::optional<Two> job;
  uint64_t step = 0;
};

void write_over(const std::string& path, size_t at, const std::string& bytes) {
  std::FILE* f = std::fopen(path.c_str(), "r+");
  std::fseek(f, static_cast<long>(at), SEEK_SET);
  std::fwrite(bytes.data(), 1, bytes.size(), f);
  std::fclose(f);
}

TEST_CASE("snapshots of a table hold what changed, and all of it now and then") {
  Run run;
  run.steps(13);
  const size_t dumps[] = {1, 1, 2, 3, 4, 1, 2};  // nothing is added to an empty table
  for (uint64_t k = 0; k < 7; ++k) {
    CHECK(run.dumps_of(k * period) == dumps[k]);
    CHECK(run.digest_of(k * period) == run.digest_at(k * period));
  }

  SECTION("each is complete in itself") {
    const std::string elsewhere = run.directory.path() + "/copy-" + snapshot_name(6);
    fs::copy(run.path(6), elsewhere);
    for (const uint64_t gone : {0, 2, 4, 6, 10})
      remove_tree(run.directory.path(), snapshot_name(gone));
    CHECK(run.digest_of(8) == run.digest_at(8));
    fs::rename(elsewhere, run.path(6));
    CHECK(run.digest_of(6) == run.digest_at(6));
  }
  SECTION("changes that are cut short") {
    const std::string file = run.path(8) + "/table-0.2";
    REQUIRE(::truncate(file.c_str(), static_cast<off_t>(fs::file_size(file)) - 9) == 0);
    CHECK_THROWS_WITH(run.digest_of(8), Contains("table-0.2") && Contains("its manifest says"));
    CHECK_THROWS_WITH(run.digest_of(6), Contains("table-0.2"));  // it has the same file
    CHECK(run.digest_of(4) == run.digest_at(4));
  }
  SECTION("changes that are missing") {
    fs::remove(run.path(8) + "/table-0.1");
    CHECK_THROWS_WITH(run.digest_of(8), Contains("table-0.1"));
    CHECK(run.digest_of(6) == run.digest_at(6));
  }
  SECTION("the rows of another snapshot") {
    fs::remove(run.path(12) + "/table-0");
    fs::copy_file(run.path(6) + "/table-0", run.path(12) + "/table-0");
    CHECK_THROWS_WITH(run.digest_of(12), Contains("table-0'"));
    CHECK(run.digest_of(10) == run.digest_at(10));
  }
  SECTION("a bit of the rows that changes were added to") {
    write_over(run.path(6) + "/table-0", 100, "\x5a");
    CHECK_THROWS_WITH(run.digest_of(6), Contains("table-0'") && Contains("checksum"));
  }
}

TEST_CASE("changes that do not follow each other are refused") {
  Run run;
  run.steps(7);
  Snapshot s = read_snapshot(run.path(6));
  REQUIRE(s.tables[0].dumps.size() == 3);
  std::vector<ValueRecord> values;
  read_manifest(read_file(run.path(6) + "/manifest", 1 << 20), "manifest", values);
  std::vector<DumpRecord>& dumps = s.tables[0].dumps;
  SECTION("one is left out") {
    dumps.erase(dumps.begin() + 1);
    fs::rename(run.path(6) + "/table-0.2", run.path(6) + "/table-0.1");
  }
  SECTION("two are swapped") {
    std::swap(dumps[1], dumps[2]);
    fs::rename(run.path(6) + "/table-0.2", run.path(6) + "/x");
    fs::rename(run.path(6) + "/table-0.1", run.path(6) + "/table-0.2");
    fs::rename(run.path(6) + "/x", run.path(6) + "/table-0.1");
  }
  SECTION("the manifest names marks that the rows do not have") {
    dumps[1].mark += 1;
    dumps[2].since += 1;
  }
  SECTION("there are none") { dumps.clear(); }
  fs::remove(run.path(6) + "/manifest");
  write_file_atomically(run.path(6) + "/manifest", write_manifest(s, values));
  CHECK_THROWS_WITH(read_snapshot(run.path(6)),
                    Contains("does not continue the rows before it") || Contains("names no rows"));
}

TEST_CASE("a shard that was restored adds to the snapshot that it was restored from") {
  Run run;
  run.steps(6);
  run.job.reset();
  run.disk.kept.erase(run.disk.kept.upper_bound(2), run.disk.kept.end());
  PlainShard shard(run.options, &run.disk);
  PeerId peers[2];
  for (uint32_t t = 0; t < 2; ++t) peers[t] = shard.greet(t, 2, wire::Mode::sync, 9000 + t);
  for (const PeerId p : peers) shard.say(p, wire::Join{0, 2});
  for (uint64_t step = 2; step < 9; ++step) {
    for (uint32_t t = 0; t < 2; ++t) {
      const Ids ids = ids_of(t, step);
      shard.push_rows(peers[t], table_id, step, ids, grads_of(t, step, ids));
      shard.push(peers[t], step, {{10, gradients(t, step, 0, 5)}});
    }
  }
  CHECK(run.dumps_of(2) == 1);
  CHECK(run.dumps_of(4) == 2);
  CHECK(run.dumps_of(6) == 3);
  CHECK(run.dumps_of(8) == 4);
  for (const uint64_t at : {2, 4, 6, 8}) CHECK(run.digest_of(at) == run.digest_at(at));
}

TEST_CASE("rows that expired between two snapshots are gone after a restart") {
  Run whole("adagrad", {.most = 0}, 3), changes("adagrad", {.most = 100, .share = 1e9}, 3);
  for (Run* run : {&whole, &changes})
    for (int turn = 0; turn < 10; ++turn) {
      run->steps(2);
      run->job->shard.tick(0.1);
    }
  CHECK(whole.dumps_of(20) == 1);
  CHECK(changes.dumps_of(20) > 5);
  REQUIRE(changes.job->shard.shard.status(changes.job->shard.now).tables.at(0).expired > 5);
  for (uint64_t at = 2; at <= 20; at += 2) CHECK(changes.digest_of(at) == whole.digest_of(at));
}

TEST_CASE("changes without what they belong to fail, and the next snapshot is whole") {
  Run run;
  run.steps(5);
  REQUIRE(run.dumps_of(4) == 2);
  SECTION("the snapshot is gone") {
    remove_tree(run.directory.path(), snapshot_name(4));
    run.steps(2);
    CHECK_THAT(run.disk.problem, Contains(snapshot_name(4)));
  }
  SECTION("it is a copy of another one") {
    remove_tree(run.directory.path(), snapshot_name(4));
    fs::copy(run.path(2), run.path(4));
    run.steps(2);
    CHECK_THAT(run.disk.problem, Contains("is another one than that to which the changes"));
  }
  CHECK_FALSE(is_directory(run.path(6)));
  run.steps(4);
  CHECK(run.dumps_of(8) == 1);
  CHECK(run.dumps_of(10) == 2);
  CHECK(run.digest_of(10) == run.digest_at(10));
}

TEST_CASE("many changes make a whole snapshot, and so does the option") {
  Run many("sgd", {.most = 100, .share = 0.1});
  many.steps(9);
  for (const uint64_t at : {2, 4, 6, 8}) CHECK(many.dumps_of(at) == 1);
  Run off("sgd", {.most = 0, .share = 1e9});
  off.steps(9);
  for (const uint64_t at : {2, 4, 6, 8}) CHECK(off.dumps_of(at) == 1);
}

}  // namespace table_changes_test
