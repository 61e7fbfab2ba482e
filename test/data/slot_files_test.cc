#include "data/slot_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "base/log.h"
#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

SlotSpec slots(const std::string& command = "cat", int64_t batch_size = 2) {
  SlotSpec spec;
  spec.slots = {{"ids", DType::i64, {1}, 1}, {"label", DType::i64, {1}}};
  spec.command = command;
  spec.batch_size = batch_size;
  return spec;
}

std::vector<std::string> all(SlotStream& stream) {
  std::vector<std::string> out;
  for (Batch batch; stream.next(batch);)
    for (int64_t i = 0; i < batch.samples; ++i) out.push_back(record_text(batch, i));
  return out;
}

std::vector<std::string> all(SlotMemory& memory) {
  memory.rewind();
  std::vector<std::string> out;
  for (Batch batch; memory.next(batch);)
    for (int64_t i = 0; i < batch.samples; ++i) out.push_back(record_text(batch, i));
  return out;
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("slot files: a stream of batches", "[data]") {
  const TempDir dir;
  const std::string a = dir.write("a", "2 1 2 1 0\n1 3 1 1\n1 4 1 0\n"),
                    b = dir.write("b", "1 5 1 1\n"),
                    packed = dir.write("c.gz", gzipped("1 6 1 1\n"));
  const std::vector<std::string> expected{"[1 2] [0]", "[3] [1]", "[4] [0]", "[5] [1]", "[6] [1]"};

  SECTION("spans files, and only the last batch is short") {
    FileList list({a, b, packed});
    SlotStream stream(slots(), list);
    std::vector<int64_t> sizes;
    for (Batch batch; stream.next(batch);) sizes.push_back(batch.samples);
    CHECK(sizes == std::vector<int64_t>{2, 2, 1});
  }
  SECTION("is what the command prints") {
    for (const char* command : {"cat", "sed 's/x/x/'", "cat | cat; true"}) {
      FileList list({a, b, packed});
      SlotStream stream(slots(command), list);
      CHECK(all(stream) == expected);
    }
  }
  SECTION("a command that fails, a bad line, and a file that is not there are reported") {
    const auto error_of = [&](const std::string& command, const std::string& file) {
      return message_of([&] {
        FileList list({file});
        SlotStream stream(slots(command), list);
        all(stream);
      });
    };
    CHECK_THAT(error_of("cat >/dev/null; exit 3", a),
               Contains(a + ": the pipe command") && Contains("exit code 3"));
    CHECK_THAT(error_of("kill -9 $$", a), Contains("signal 9"));
    CHECK_THAT(error_of("sed s/4/x/", a), Contains(a + ":3: ") && Contains("'x'"));
    CHECK_THAT(error_of("cat -", dir.path() + "/none"), Contains("none: No such file"));
    const std::string whole = gzipped("1 6 1 1\n1 7 1 0\n"),
                      half = dir.write("half.gz", whole.substr(0, whole.size() - 8)),
                      good = dir.write("good.gz", whole);
    CHECK_THAT(error_of("cat -", half), Contains("half.gz: the pipe command 'zcat | ( cat - )'"));
    CHECK_THAT(error_of("exit 3", good), Contains("exit code 3"));
    CHECK(error_of("head -1", good) == "");  // it need not read all
    CHECK_THAT(error_of("cat -", "hdfs:/none/at/all"), Contains("hdfs:/none/at/all"));
    CHECK(error_of("cat # a comment", good) == "");
  }
  SECTION("a reader that waits for a slow command can be stopped") {
    FileList list({a});
    const SlotSpec spec = slots("sleep 1000");
    SlotStream stream(spec, list);
    *spec.stop = true;
    Batch batch;
    CHECK_THAT(message_of([&] { stream.next(batch); }), Contains("stopped while 'sleep 1000' ran"));
  }
  SECTION("leaving early ends the command") {
    FileList list({a});
    SlotStream stream(slots("while :; do echo 1 1 1 1; done"), list);
    Batch batch;
    CHECK(stream.next(batch));
  }
  SECTION("every file goes to one of several users") {
    std::vector<std::string> files;
    for (int i = 0; i < 40; ++i)
      files.push_back(dir.write("part-" + std::to_string(i), "1 " + std::to_string(i) + " 1 0\n"));
    FileList list(files);
    std::vector<std::vector<std::string>> got(4);
    {
      std::vector<std::jthread> users;
      for (auto& mine : got)
        users.emplace_back([&] {
          SlotStream stream(slots("cat -"), list);
          mine = all(stream);
        });
    }
    std::multiset<std::string> together;
    for (const auto& mine : got) together.insert(mine.begin(), mine.end());
    CHECK(together.size() == 40);
    CHECK(std::set<std::string>(together.begin(), together.end()).size() == 40);
  }
}

TEST_CASE("slot files: in memory", "[data]") {
  const TempDir dir;
  std::vector<std::string> files, expected;
  for (int i = 0; i < 9; ++i) {
    std::string content;
    for (int j = 0; j < 5; ++j) {
      content += "2 " + std::to_string(i) + " " + std::to_string(j) + " 1 1\n";
      expected.push_back("[" + std::to_string(i) + " " + std::to_string(j) + "] [1]");
    }
    files.push_back(dir.write("part-" + std::to_string(i), content));
  }
  SlotMemory memory(slots("cat -", 4));
  memory.load(files, 3);
  CHECK(memory.size() == 45);
  CHECK(all(memory) == expected);

  SECTION("shuffled by the seed alone") {
    SlotMemory other(slots("cat", 4));
    other.load(files, 1);
    memory.shuffle_records(7);
    other.shuffle_records(7);
    std::vector<std::string> order = all(memory);
    CHECK(order != expected);
    CHECK(order == all(other));
    std::sort(order.begin(), order.end());
    CHECK(order == expected);
  }
  SECTION("divided among processes that read the same files") {
    std::vector<std::string> together;
    for (uint32_t part = 0; part < 3; ++part) {
      SlotMemory one(slots("cat", 4));
      CHECK(one.load(files, 2, {.seed = 5, .part = part, .parts = 3}) == 45);
      CHECK(one.size() > 5);
      const std::vector<std::string> own = all(one);
      together.insert(together.end(), own.begin(), own.end());
    }
    std::sort(together.begin(), together.end());
    CHECK(together == expected);
    SlotMemory other(slots("cat", 4)), same(slots("cat", 4));
    other.load(files, 1, {.seed = 6, .part = 0, .parts = 3});
    same.load(files, 1, {.seed = 5, .part = 0, .parts = 3});
    CHECK(all(other) != all(same));
    CHECK(takes_record({.seed = 1, .part = 0, .parts = 1}, 7, 9));
  }
  SECTION("cleared and loaded again") {
    memory.clear();
    CHECK(memory.size() == 0);
    CHECK(all(memory).empty());
    memory.load({files[2]}, 2);
    CHECK(memory.size() == 5);
  }
  SECTION("the first bad file is reported, and nothing of it is kept") {
    const std::string bad = dir.write("bad", "1 1\n");
    CHECK_THAT(message_of([&] { memory.load({files[0], bad}, 2); }), Contains("bad:1: expected"));
    CHECK(memory.size() == 45);
  }
}

TEST_CASE("slot files: slots are shuffled by themselves", "[data]") {
  const TempDir dir;
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += text(i % 3 + 1, i % 3 > 0 ? text(" ", 1000 + i) : "", i % 3 > 1 ? " 5" : "", " ", i,
                  " 1 ", i, "\n");
  SlotMemory memory(slots("cat", 7));
  memory.load({dir.write("f", lines)}, 1);
  const auto before = all(memory);
  const auto parts = [](const std::vector<std::string>& records, bool first) {
    std::multiset<std::string> out;
    for (const std::string& r : records) {
      const size_t cut = r.find("] [") + 1;
      out.insert(first ? r.substr(0, cut) : r.substr(cut));
    }
    return out;
  };
  memory.shuffle_slots({"ids"}, 7);
  const auto after = all(memory);
  CHECK(after != before);
  CHECK(parts(after, true) == parts(before, true));  // the same sequences, at other records
  for (size_t i = 0; i < after.size(); ++i)          // whose labels are where they were
    CHECK(after[i].substr(after[i].find("] [")) == before[i].substr(before[i].find("] [")));
  memory.shuffle_slots({"label"}, 7);
  CHECK(parts(all(memory), false) == parts(before, false));
  CHECK_THAT(message_of([&] { memory.shuffle_slots({"labl"}, 1); }),
             Contains("no slot 'labl' (did you mean 'label'?)"));
}

TEST_CASE("slot files: a command that prints nothing is reported", "[data]") {
  const TempDir dir;
  std::string warning;
  std::atomic<bool> reported = false;
  set_log_observer([&](LogLevel, const std::string& message) {
    warning = message;
    reported = true;
    reported.notify_all();
  });
  const std::string fifo = dir.path() + "/go", file = dir.write("f", "1 2 1 0\n");
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const auto source = open_command("read line < " + fifo + "; cat", file, {}, nullptr, 0.4);
  std::jthread later([&] {  // lets it go on once it has been reported
    reported.wait(false);
    std::ofstream(fifo) << "go\n";
  });
  std::string out(100, ' ');
  out.resize(source->read(out));
  set_log_observer(nullptr);
  CHECK(out == "1 2 1 0\n");
  CHECK_THAT(warning, Contains(file + ": the pipe command 'read line") &&
                          Contains("has printed nothing for 0 s; it is still waited for"));
}

TEST_CASE("slot files: ids of records are passed over", "[data]") {
  const TempDir dir;
  SlotSpec spec = slots();
  spec.record_ids = true;
  FileList list({dir.write("f", "1 abc-7 2 5 6 1 0\n1 x 1 7 1 1\n")});
  SlotStream stream(spec, list);
  CHECK(all(stream) == std::vector<std::string>{"[5 6] [0]", "[7] [1]"});
  SlotMemory memory(spec);
  CHECK_THAT(message_of([&] { memory.load({dir.write("f", "2 5 6 1 0\n")}, 1); }),
             Contains("/f:1: expected '1' and the id of the record"));
}

TEST_CASE("slot files: records are merged by their ids", "[data]") {
  const TempDir dir;
  SlotSpec spec = slots();
  spec.slots.push_back({"weight", DType::f32, {2}});
  spec.record_ids = spec.keeps_ids = true;
  SlotMemory memory(spec);
  std::string warning;
  set_log_observer([&](LogLevel, const std::string& line) { warning += line; });
  const auto end = [] { set_log_observer(nullptr); };
  SECTION("a slot is that of the record which has something there") {
    memory.load({dir.write("a", "1 b 2 5 6 1 0 2 0 0\n1 a 1 0 1 1 2 0 0\n"),
                 dir.write("b", "1 a 1 7 1 0 2 0 0\n1 b 1 0 1 0 2 0.5 0\n")},
                2);
    memory.merge_by_id(2);
    CHECK(all(memory) == std::vector<std::string>{"[7] [1] [0 0]", "[5 6] [0] [0.5 0]"});
    CHECK(warning.empty());
    memory.merge_by_id(2);  // they are one by now
    CHECK(memory.size() == 2);
    memory.load({dir.write("c", "1 z 1 1 1 0 2 0 0\n1 z 1 0 1 1 2 0 0\n")}, 1);
    memory.merge_by_id(2);
    CHECK(all(memory) ==
          std::vector<std::string>{"[7] [1] [0 0]", "[5 6] [0] [0.5 0]", "[1] [1] [0 0]"});
  }
  SECTION("records that do not fit are dropped and counted") {
    memory.load({dir.write("a",
                           "1 two 1 5 1 0 2 0 0\n1 two 1 6 1 0 2 0 0\n"  // the same slot
                           "1 one 1 7 1 0 2 0 0\n"                       // too few
                           "1 ok 1 8 1 0 2 0 0\n1 ok 1 0 1 1 2 0 0\n")},
                1);
    SECTION("of a given number") {
      memory.merge_by_id(2);
      CHECK(all(memory) == std::vector<std::string>{"[8] [1] [0 0]"});
      CHECK_THAT(warning, Contains("dropped 3 of 5 records, those of 'one' first") &&
                              Contains("it has not 2 of them"));
    }
    SECTION("of any number") {
      memory.merge_by_id(0);
      CHECK(all(memory) == std::vector<std::string>{"[8] [1] [0 0]", "[7] [0] [0 0]"});
      CHECK_THAT(warning, Contains("dropped 2 of 5 records, those of 'two' first"));
    }
  }
  SECTION("nothing is loaded") {
    memory.merge_by_id(2);
    CHECK(memory.size() == 0);
  }
  end();
}
