#include "base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "support/child.h"
#include "support/small_disk.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Names = std::vector<std::string>;

namespace {

template <class Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  FAIL("no error");
  return Error(Error::Kind::io, "");
}

}  // namespace

TEST_CASE("read and write files", "[base]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";

  SECTION("what was written is read, parts joined, nothing left beside it") {
    const std::string big(300000, 'x'), zero("a\0b", 3);
    const std::string_view parts[] = {big, "", zero};
    write_file_atomically(path, parts);
    CHECK(read_file(path, 1 << 20) == big + zero);
    write_file_atomically(path, "short");
    CHECK(read_file(path, 5) == "short");
    CHECK(list_directory(directory.path()) == Names{"file"});
  }
  SECTION("a new file has the rights the user's mask gives") {
    const mode_t before = ::umask(027);
    write_file_atomically(path, "x");
    ::umask(before);
    struct stat status {};
    ::stat(path.c_str(), &status);
    CHECK((status.st_mode & 0777) == 0640);
  }
  SECTION("lines are added to a file, never through a link, and strangers do not read them") {
    const mode_t before = ::umask(0);
    const std::string below = directory.path() + "/logs/deep/down", log = below + "/log";
    make_directories(below);
    write_all(open_to_append(log).get(), "one\n", log);
    write_all(open_to_append(log).get(), "two\n", log);
    ::umask(before);
    CHECK(read_file(log, 99) == "one\ntwo\n");
    using perms = std::filesystem::perms;
    CHECK(std::filesystem::status(log).permissions() == perms(0640));
    for (const std::string& d : {below, directory.path() + "/logs"})
      CHECK(std::filesystem::status(d).permissions() == perms(0750));
    make_directories(below + "/");  // is there already
    CHECK_THROWS_WITH(make_directories(log + "/x"), Contains("a part of that path is a file"));
    point_link("log", below + "/link");
    CHECK_THROWS_WITH(open_to_append(below + "/link"),
                      Contains("that is a symbolic link, which is not followed"));
    CHECK(read_file(log, 99) == "one\ntwo\n");
  }
  SECTION("too large a file is refused, also where its size is not known before") {
    write_file_atomically(path, "123456");
    const Error e = error_of([&] { read_file(path, 5); });
    CHECK(e.kind() == Error::Kind::data);
    CHECK_THAT(e.what(), Contains(path) && Contains("larger than the 5 bytes"));
    CHECK_THROWS_WITH(read_file("/dev/zero", 100000), Contains("larger"));
  }
  SECTION("errors name the path, the reason and a remedy") {
    const Error e = error_of([&] { read_file(path, 5); });
    CHECK(e.kind() == Error::Kind::io);
    CHECK(e.what() == "cannot open '" + path +
                          "': No such file or directory; check the spelling, and that the "
                          "directory it stands in exists");
    CHECK_THROWS_WITH(read_file(directory.path(), 5), Contains("that is a directory"));
    CHECK_THROWS_WITH(
        write_file_atomically(path + "/x/y", "z"),
        Contains("cannot create '" + path + "/x/y'") && Contains("directory it stands in"));
    write_file_atomically(path, "x");
    CHECK_THROWS_WITH(write_file_atomically(path + "/y", "z"),
                      Contains("a part of that path is a file"));
    CHECK_THROWS_WITH(make_directories(path + "/a/b"), Contains("a part of that path is a file"));
    CHECK_THROWS_WITH(make_directories(path), Contains("cannot make the directory"));
    CHECK_THROWS_WITH(list_directory(path + "-none"), Contains("cannot list"));
    CHECK_THAT(io_error("write", "x", EACCES).what(), Contains("check its rights"));
    CHECK_THAT(io_error("write", "x", EROFS).what(), Contains("read-only"));
  }
  SECTION("a name that is a directory stays one, without a temporary file beside it") {
    make_directories(path + "/below");
    CHECK_THROWS_WITH(write_file_atomically(path, "x"), Contains("cannot put in place"));
    CHECK(list_directory(directory.path()) == Names{"file"});
  }
}

TEST_CASE("a full disk leaves the old file", "[base]") {
  SECTION("no space") {
    const SmallDisk disk;
    if (!disk.mounted()) {
      WARN("no right to mount a small disk here: this section did not run");
      return;
    }
    const std::string path = disk.path() + "/file";
    write_file_atomically(path, "old");
    const Error e = error_of([&] { write_file_atomically(path, std::string(1 << 20, 'x')); });
    CHECK(e.kind() == Error::Kind::io);
    CHECK_THAT(e.what(),
               Contains(path) && Contains("No space left") && Contains("free some space"));
    CHECK(read_file(path, 10) == "old");
    CHECK(list_directory(disk.path()) == Names{"file"});
  }
  SECTION("a limit on the file size") {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/file";
    write_file_atomically(path, "old");
    const int code = in_child([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{4096, 4096};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      try {
        write_file_atomically(path, std::string(1 << 20, 'x'));
      } catch (const Error& e) {
        return std::string(e.what()).find("ulimit -f") != std::string::npos ? 4 : 5;
      }
      return 0;
    });
    CHECK(code == 4);
    CHECK(read_file(path, 10) == "old");
    CHECK(list_directory(directory.path()) == Names{"file"});
  }
}

TEST_CASE("remove trees", "[base]") {
  const TemporaryDirectory directory;
  const std::string keep = directory.path() + "/keep", drop = directory.path() + "/drop";
  make_directories(keep);
  make_directories(drop + "/below");
  write_file_atomically(keep + "/file", "x");
  write_file_atomically(drop + "/below/file", "x");

  SECTION("removes the one entry, and links without what they point to") {
    REQUIRE(::symlink(keep.c_str(), (drop + "/link").c_str()) == 0);
    remove_tree(directory.path(), "drop");
    CHECK(list_directory(directory.path()) == Names{"keep"});
    CHECK(is_file(keep + "/file"));
    CHECK(is_directory(keep));
    CHECK_FALSE(is_file(keep));
    remove_tree(directory.path(), "drop");  // nothing there
  }
  SECTION("refuses names that reach elsewhere") {
    for (const char* name : {"", ".", "..", "../x", "drop/below", "/"})
      CHECK_THROWS_WITH(remove_tree(directory.path(), name), Contains("refusing to remove"));
    CHECK(is_file(drop + "/below/file"));
  }
}
