#include "wire/token.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "support/temporary.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace token_test {

Token parsed(const std::string& text) {
  return parse_token(std::as_bytes(std::span(text)), "the file");
}

std::string hex(const Secret& s) {
  std::string out;
  for (const std::byte b : s.bytes()) {
    constexpr const char* digits = "0123456789abcdef";
    out += digits[static_cast<unsigned>(b) >> 4];
    out += digits[static_cast<unsigned>(b) & 15];
  }
  return out;
}

std::string text_of(const Secret& s) {
  return {reinterpret_cast<const char*>(s.bytes().data()), s.size()};
}

const std::string some_hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

}  // namespace token_test

using namespace token_test;

TEST_CASE("a token is at least 32 bytes in hex or base64", "[wire]") {
  CHECK(hex(parsed(some_hex).secret) == some_hex);
  CHECK(hex(parsed("  " + some_hex + "\r\n").secret) == some_hex);
  CHECK(hex(parsed("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").secret) == some_hex);
  CHECK(hex(parsed("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8").secret) == some_hex);
  CHECK(parsed(some_hex).grant == Grant{});
  CHECK(parsed("observer:" + some_hex).grant == Grant{Grant::Kind::observer, 0});
  CHECK(parsed("trainer-7:" + some_hex).grant == Grant{Grant::Kind::trainer, 7});
  const std::string secret = "5ecret" + std::string(20, '!');
  for (const std::string& wrong :
       {std::string(), std::string("\n"), some_hex.substr(2), some_hex + " " + some_hex,
        some_hex.substr(0, 30) + "\n" + some_hex.substr(30), "root:" + some_hex,
        "trainer-:" + some_hex, "trainer-65535:" + some_hex, "trainer-0x1:" + some_hex,
        "observer:" + some_hex + "00", secret, ":" + some_hex, std::string(64, '\0')}) {
    INFO(wrong);
    CHECK_THROWS_AS(parsed(wrong), Error);
  }
  // What is in the file is never repeated: it is a secret, if a wrong one.
  CHECK_THROWS_WITH(parsed(secret), !Contains("5ecret"));
}

TEST_CASE("derived keys are those of HKDF with SHA-256", "[wire]") {
  // Computed with Python: hmac.new(hmac.new(b"paddle job token 1", ikm, sha256).digest(),
  // role + b"\x01", sha256).
  const Token job = parsed(some_hex);
  CHECK(hex(key_of(job, {Grant::Kind::observer, 0})) ==
        "7a93624a9d66934e337fc81ab07274b72b91b53538a852d0cde85135d93e78bd");
  CHECK(hex(key_of(job, {Grant::Kind::trainer, 3})) ==
        "2338198fc67a5795b7c2bcc309cfc8198b3f114bb20226c30cee016828cc0725");
  // Each is another one, and a derived token is the key itself and stands for nothing else.
  std::set<std::string> keys;
  const std::vector<Grant> all{{Grant::Kind::job, 0},      {Grant::Kind::trainers, 0},
                               {Grant::Kind::trainer, 0},  {Grant::Kind::trainer, 1},
                               {Grant::Kind::observer, 0}, {Grant::Kind::admin, 0}};
  for (const Grant& g : all) {
    keys.insert(hex(key_of(job, g)));
    CHECK(grant_named(name_of(g)) == g);
    if (g.kind == Grant::Kind::job) continue;
    const Token derived = parsed(text_of(derived_token_text(job, g)));
    CHECK(derived.grant == g);
    CHECK(hex(key_of(derived, g)) == hex(key_of(job, g)));
    for (const Grant& other : all)
      if (other != g) CHECK_THROWS_AS(key_of(derived, other), Error);
  }
  CHECK(keys.size() == all.size());
}

TEST_CASE("a token file is for its user alone", "[wire]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/token";
  write_secret_file(path, new_token_text().bytes(), false);
  struct stat s {};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0600);
  CHECK(read_token(path).secret.size() == token_bytes);
  CHECK_THROWS_WITH(write_secret_file(path, new_token_text().bytes(), false),
                    Contains("is there already"));
  const std::string before = hex(read_token(path).secret);
  write_secret_file(path, new_token_text().bytes(), true);
  CHECK(hex(read_token(path).secret) != before);

  for (const mode_t mode : {0644, 0604, 0602, 0620, 0601}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK_THROWS_WITH(read_token(path), Contains("chmod 600"));
  }
  for (const mode_t mode : {0400, 0600, 0440, 0640}) {  // the last two: Kubernetes, systemd
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK_NOTHROW(read_token(path));
  }
  SECTION("a link of this user is followed, one of another user is not") {
    const std::string link = directory.path() + "/link";
    REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);
    CHECK_NOTHROW(read_token(link));
    if (::geteuid() == 0) {
      REQUIRE(::lchown(link.c_str(), 12345, 12345) == 0);
      CHECK_THROWS_WITH(read_token(link), Contains("belongs to another user"));
    }
  }
  SECTION("what is no file, is missing or too long") {
    CHECK_THROWS_WITH(read_token(directory.path()), Contains("no regular file"));
    CHECK_THROWS_WITH(read_token(path + "2"), Contains("cannot open"));
    const std::string pipe = directory.path() + "/pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH(read_token(pipe), Contains("no regular file"));  // and does not wait
    std::ofstream(path) << std::string(max_token_file + 1, 'a');
    CHECK_THROWS_WITH(read_token(path), Contains("at most 4096"));
  }
}

// Sanitizers map more memory than one can look through.
#if !defined(PS_SANITIZER)
namespace token_test {

// Whether the bytes stand in memory that a core dump would contain. Nothing is copied on the way: a
// copy would be found.
bool in_dumped_memory(std::span<const std::byte> needle) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  char *first = nullptr, *last = nullptr;
  bool writable = false;
  while (std::getline(maps, line)) {
    size_t a = 0, b = 0;
    char mode[5] = {};
    if (std::sscanf(line.c_str(), "%zx-%zx %4s", &a, &b, mode) == 3) {
      first = reinterpret_cast<char*>(a), last = reinterpret_cast<char*>(b);
      writable = mode[0] == 'r' && mode[1] == 'w';
    }
    if (line.rfind("VmFlags:", 0) != 0 || !writable) continue;
    if (line.find(" dd") != std::string::npos) continue;
    if (::memmem(first, static_cast<size_t>(last - first), needle.data(), needle.size()))
      return true;
  }
  return false;
}

}  // namespace token_test

TEST_CASE("a token is in no memory that a core dump contains", "[wire]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/token";
  write_secret_file(path, new_token_text().bytes(), false);
  const Token token = read_token(path);
  const Secret key = key_of(token, {Grant::Kind::observer, 0});
  const auto needle = token.secret.bytes().first(16);
  std::vector<std::byte> leak(needle.begin(), needle.end());
  CHECK(in_dumped_memory(needle));  // the search finds what is there
  wipe(leak);
  CHECK_FALSE(in_dumped_memory(needle));
  CHECK_FALSE(in_dumped_memory(key.bytes().first(16)));
  // Its text, as it stood in the file.
  const Secret text = read_secret_file(path, max_token_file, "the token file");
  CHECK_FALSE(in_dumped_memory(text.bytes().first(16)));
}
#endif
