#include "wire/frame.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace {

using Header = std::array<std::byte, header_bytes>;

Header header_of(uint32_t head, uint64_t bulk) {
  Header out;
  write_header(out.data(), {head, bulk});
  return out;
}

Header header_of(const char* text) {
  Header out{};
  std::memcpy(out.data(), text, std::min<size_t>(header_bytes, std::strlen(text)));
  return out;
}

}  // namespace

TEST_CASE("frame header", "[wire]") {
  SECTION("is 16 bytes, little-endian") {
    const Header h = header_of(24, 0x0102030405060708);
    const unsigned char golden[] = {'P', 'S', 'W', '1', 24, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    CHECK(std::memcmp(h.data(), golden, header_bytes) == 0);
    const FrameHeader back = read_header(h, greeting_limits.head);
    CHECK(back.head == 24);
    CHECK(back.bulk == 0x0102030405060708);
  }
  SECTION("refuses lengths that cannot be") {
    for (const uint32_t head : {0u, 1u, 12u, greeting_limits.head + 8, 1u << 31, 0xfffffff8u})
      CHECK_THROWS_WITH(read_header(header_of(head, 0), greeting_limits.head), Contains("head"));
  }
  SECTION("says what the bytes look like") {
    CHECK_THROWS_WITH(read_header(header_of("GET / HTTP/1.1\r\n"), trainer_limits.head),
                      Contains("HTTP"));
    CHECK_THROWS_WITH(read_header(header_of("\x16\x03\x01\x02"), trainer_limits.head),
                      Contains("TLS"));
    CHECK_THROWS_WITH(read_header(header_of("1WSP"), trainer_limits.head), Contains("big-endian"));
    CHECK_THROWS_WITH(read_header(header_of("PSW9"), trainer_limits.head),
                      Contains("another version"));
    CHECK_THROWS_WITH(read_header(header_of("xyz"), trainer_limits.head), Contains("no frame"));
  }
}
