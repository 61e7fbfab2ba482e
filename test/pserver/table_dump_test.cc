// Dumps of tables that go to the disk part by part.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <deque>

#include "pserver/dump_on_disk.h"
#include "support/temporary.h"

namespace table_dump_test {

using namespace paddle;
using Catch::Matchers::Contains;

PartBytes part_of(uint8_t number, size_t bytes) { return PartBytes(bytes, std::byte{number}); }

struct Later {  // the other thread, when the test wants it
  std::deque<std::function<void()>> work;
  int rooms = 0;
  std::shared_ptr<DumpInFile> begin(const std::string& path) {
    return std::make_shared<DumpInFile>(
        path, [this](std::function<void()> w) { work.push_back(std::move(w)); },
        [this] { ++rooms; });
  }
  void run(size_t count = ~size_t{0}) {
    for (; count > 0 && !work.empty(); --count) {
      work.front()();
      work.pop_front();
    }
  }
};

TEST_CASE("a dump goes to its snapshot through a file") {
  const TemporaryDirectory directory;
  const std::string spool = directory.path() + "/rows-7-0", at = directory.path() + "/step-7";
  Later later;
  auto dump = later.begin(spool);
  for (uint8_t i = 0; i < 5; ++i) dump->add(part_of(i, 1000 + i));
  CHECK_FALSE(is_file(spool));  // nothing happens in the thread that adds
  CHECK(dump->spare().empty());
  later.run();
  CHECK(is_file(spool));
  CHECK(dump->spare().capacity() >= 1000);  // for the next one
  TableDump::Sum sum;
  {
    AtomicDirectory snapshot(at);
    sum = dump->store(snapshot, "table-0");
    snapshot.commit();
  }
  dump.reset();
  CHECK_FALSE(is_file(spool));
  CHECK(sum.bytes == 5 * 8 + 5000 + 10);
  {
    const DumpOnDisk back(at + "/table-0", sum);
    back.check();
    REQUIRE(back.parts() == 5);
    CHECK(back.begin(7) == part_of(0, 7));
    CHECK(back.begin(9999) == part_of(0, 1000));
    for (uint8_t i = 5; i-- > 1;) CHECK(back.read(i) == part_of(i, 1000 + i));
    for (uint8_t i = 0; i < 5; ++i) CHECK(back.read(i) == part_of(i, 1000 + i));
  }

  SECTION("as one in memory does") {
    DumpInMemory memory;
    for (uint8_t i = 0; i < 5; ++i) memory.add(part_of(i, 1000 + i));
    AtomicDirectory snapshot(directory.path() + "/other");
    const TableDump::Sum same = memory.store(snapshot, "table-0");
    CHECK(same == sum);
  }
  SECTION("damage is found before anything is used") {
    std::FILE* f = std::fopen((at + "/table-0").c_str(), "r+");
    std::fseek(f, 2500, SEEK_SET);
    std::fputc(0x5a, f);
    std::fclose(f);
    const DumpOnDisk back(at + "/table-0", sum);
    CHECK_THROWS_WITH(back.check(), Contains("its checksum is wrong"));
    CHECK_THROWS_WITH(DumpOnDisk(at + "/table-0", {sum.bytes - 1, sum.checksum}),
                      Contains("its manifest says"));
  }
  SECTION("or, in order, before the last part is") {
    std::FILE* f = std::fopen((at + "/table-0").c_str(), "r+");
    std::fseek(f, 2500, SEEK_SET);
    std::fputc(0x5a, f);
    std::fclose(f);
    const DumpOnDisk back(at + "/table-0", sum);
    for (uint8_t i = 0; i < 4; ++i) CHECK((back.read(i) == part_of(i, 1000 + i)) == (i != 2));
    CHECK_THROWS_WITH(back.read(4), Contains("its checksum is wrong"));
  }
  SECTION("a length that leads behind the end is found at once") {
    std::FILE* f = std::fopen((at + "/table-0").c_str(), "r+");
    std::fseek(f, 1008 + 2, SEEK_SET);
    std::fputc(0x5a, f);
    std::fclose(f);
    CHECK_THROWS_WITH(DumpOnDisk(at + "/table-0", sum), Contains("is cut short"));
  }
}

TEST_CASE("a dump that is read ahead waits, comes in order, and may be left in the middle") {
  const TemporaryDirectory directory;
  for (const std::string& where : {directory.path(), std::string("/dev/shm")}) {
    const std::string path = where + "/dump-" + std::to_string(::getpid());
    TableDump::Sum sum;
    DirectFile file(path);
    constexpr uint8_t parts = 20;
    constexpr uint64_t size = (uint64_t{4} << 20) + 13;  // more than may wait
    for (uint8_t i = 0; i < parts; ++i) {
      const PartBytes part = part_of(i, size);
      file.add(std::as_bytes(std::span(&size, 1)));
      file.add(part);
      sum.add(part);
    }
    file.finish();
    for (const size_t wanted : {size_t{0}, size_t{1}, size_t{7}, size_t{parts}}) {
      const DumpOnDisk dump(path, sum);
      for (size_t i = 0; i < wanted; ++i)
        REQUIRE(dump.read(i) == part_of(static_cast<uint8_t>(i), size));
    }
    ::unlink(path.c_str());
  }
}

TEST_CASE("a dump waits for a slow disk, and goes on when there is room") {
  const TemporaryDirectory directory;
  Later later;
  auto dump = later.begin(directory.path() + "/rows-1-0");
  constexpr size_t size = 8u << 20;
  int added = 0;
  for (; !dump->waits_for_disk(); ++added) dump->add(part_of(1, size));
  CHECK(added == 5);  // 32 MiB and one more
  CHECK(later.rooms == 0);
  later.run(1);
  CHECK(later.rooms == 1);
  CHECK_FALSE(dump->waits_for_disk());
  dump->add(part_of(1, size));
  CHECK(dump->waits_for_disk());
  later.run();
  CHECK(later.rooms == 2);
  dump.reset();  // a dump that nobody took leaves no file
  CHECK(list_directory(directory.path()).empty());
}

TEST_CASE("a dump that could not be written fails its snapshot") {
  const TemporaryDirectory directory;
  Later later;
  auto dump = later.begin(directory.path() + "/missing/rows-1-0");
  dump->add(part_of(1, 100));
  later.run();
  AtomicDirectory snapshot(directory.path() + "/step-1");
  CHECK_THROWS_WITH(dump->store(snapshot, "table-0"), Contains("missing/rows-1-0"));
}

TEST_CASE("a file is written past the page cache where that is possible, with any length") {
  const TemporaryDirectory directory;
  constexpr size_t piece = 8u << 20;
  const std::string memory = "/dev/shm/" + directory.path().substr(directory.path().rfind('/') + 1);
  for (const std::string& path : {directory.path() + "/file", memory})
    for (const size_t size :
         {size_t{0}, size_t{1}, size_t{4096}, size_t{5000}, piece, piece + 1, 2 * piece + 4097}) {
      PartBytes bytes(size);
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
      DirectFile file(path);
      const size_t first = size / 3;
      file.add(std::span(bytes).first(first));
      file.add(std::span(bytes).subspan(first));
      file.finish();
      const std::string read = read_file(path, size + 1);
      CHECK(std::string_view(reinterpret_cast<const char*>(bytes.data()), size) == read);
    }
  ::unlink(memory.c_str());
}

TEST_CASE("a file on a full disk fails with a sentence") {
  DirectFile file("/dev/full");
  file.add(part_of(1, 100));
  CHECK_THROWS_WITH(file.finish(), Contains("cannot write '/dev/full'") && Contains("space"));
}

TEST_CASE("a piece that could not be written is known before the file is finished") {
  DirectFile file("/dev/full");
  const auto write = [&] {
    file.add(part_of(1, size_t{9} << 20));
    file.finish();
  };
  CHECK_THROWS_WITH(write(), Contains("cannot write '/dev/full'") && Contains("space"));
}

}  // namespace table_dump_test
