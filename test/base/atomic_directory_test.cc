#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/file.h"
#include "support/child.h"
#include "support/small_disk.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Names = std::vector<std::string>;

namespace {

void save(const std::string& path, const std::string& contents) {
  AtomicDirectory model(path);
  model.write("w", contents);
  model.commit("version\n");
}

}  // namespace

TEST_CASE("atomic directory", "[base]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/out/pass-00000";
  const auto entries = [&] { return list_directory(directory.path() + "/out"); };

  SECTION("appears whole, with done, making its parents") {
    {
      AtomicDirectory model(path);
      model.write("w", "1");
      model.write("sub/v", "2");
      CHECK(model.path() == path);
      CHECK_FALSE(is_directory(path));
      CHECK(read_file(model.temporary() + "/w", 9) == "1");
      model.commit("version\n");
      CHECK(is_directory(path));
    }
    CHECK(list_directory(path) == Names{"done", "sub", "w"});
    CHECK(read_file(path + "/done", 99) == "version\n");
    CHECK(read_file(path + "/sub/v", 9) == "2");
    CHECK(entries() == Names{"pass-00000"});
    using perms = std::filesystem::perms;  // other users of the machine cannot read a model
    for (const char* name : {"", "/w", "/done"})
      CHECK((std::filesystem::status(path + name).permissions() & perms::others_all) ==
            perms::none);
  }
  SECTION("takes the place of an older one, of which nothing stays") {
    {
      AtomicDirectory model(path + "/");
      model.write("old", "0");
      model.commit();
    }
    save(path, "1");
    CHECK(list_directory(path) == Names{"done", "w"});
    CHECK(entries() == Names{"pass-00000"});
  }
  SECTION("without commit leaves the older one and nothing else") {
    save(path, "1");
    {
      AtomicDirectory model(path);
      model.write("w", "2");
    }
    CHECK(read_file(path + "/w", 9) == "1");
    CHECK(entries() == Names{"pass-00000"});
  }
  SECTION("killed at work leaves the older one; the next writer clears away the rest") {
    save(path, "1");
    CHECK(in_child([&] {
            AtomicDirectory model(path);
            model.write("w", "2");
            ::raise(SIGKILL);
            return 0;
          }) == -SIGKILL);
    CHECK(read_file(path + "/w", 9) == "1");
    CHECK(is_file(path + "/done"));
    CHECK(entries().size() == 2);
    save(path, "3");
    CHECK(read_file(path + "/w", 9) == "3");
    CHECK(entries() == Names{"pass-00000"});
  }
  SECTION("does not clear away what a living writer holds") {
    AtomicDirectory slow(path);
    slow.write("w", "slow");
    save(path, "fast");
    CHECK(is_directory(slow.temporary()));
    slow.commit();
    CHECK(read_file(path + "/w", 9) == "slow");
  }
  SECTION("a file in its place is not overwritten") {
    make_directories(directory.path() + "/out");
    write_file_atomically(path, "precious");
    CHECK_THROWS_WITH(save(path, "1"), Contains("cannot put in place '" + path + "'"));
    CHECK(read_file(path, 99) == "precious");
    CHECK(entries() == Names{"pass-00000"});
  }
  SECTION("names outside it are refused, as are places that are no name") {
    AtomicDirectory model(path);
    for (const char* name : {"", "/etc/x", "../x", "a/../../x"})
      CHECK_THROWS_WITH(model.write(name, "x"), Contains("is not a name inside"));
    for (const char* place : {"", ".", "/", "a/.."})
      CHECK_THROWS_WITH(AtomicDirectory(place), Contains("cannot be replaced"));
  }
}

TEST_CASE("a full disk leaves the old model", "[base]") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    WARN("no right to mount a small disk here: this test did not run");
    return;
  }
  const std::string path = disk.path() + "/pass-00000";
  save(path, "good");
  CHECK_THROWS_WITH(save(path, std::string(1 << 20, 'x')),
                    Contains("cannot write '" + path + "/w'") && Contains("free some space"));
  CHECK(read_file(path + "/w", 9) == "good");
  CHECK(list_directory(disk.path()) == Names{"pass-00000"});
}
