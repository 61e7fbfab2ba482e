#include "wire/frame.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "base/random.h"

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

// A push of 8-byte aligned words.
std::vector<uint64_t> sample_head() {
  flatbuffers::FlatBufferBuilder b;
  const msg::Place place(1, 2, 3, 4);
  msg::PushBuilder push(b);
  push.add_slice(3);
  push.add_step(7);
  push.add_begin(&place);
  const auto body = push.Finish();
  msg::FinishMessageBuffer(b, msg::CreateMessage(b, 9, msg::Body::Push, body.Union()));
  std::vector<uint64_t> out((b.GetSize() + 7) / 8);
  std::memcpy(out.data(), b.GetBufferPointer(), b.GetSize());
  return out;
}

}  // namespace

TEST_CASE("frame header", "[wire]") {
  SECTION("is 16 bytes, little-endian") {
    const Header h = header_of(24, 0x0102030405060708);
    const unsigned char golden[] = {'P', 'S', 'W', '1', 24, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    CHECK(std::memcmp(h.data(), golden, header_bytes) == 0);
    const FrameHeader back = read_header(h, max_greeting);
    CHECK(back.head == 24);
    CHECK(back.bulk == 0x0102030405060708);
  }
  SECTION("refuses lengths that cannot be") {
    for (const uint32_t head : {0u, 1u, 12u, max_greeting + 8, 1u << 31, 0xfffffff8u})
      CHECK_THROWS_WITH(read_header(header_of(head, 0), max_greeting), Contains("head"));
  }
  SECTION("says what the bytes look like") {
    CHECK_THROWS_WITH(read_header(header_of("GET / HTTP/1.1\r\n"), max_head), Contains("HTTP"));
    CHECK_THROWS_WITH(read_header(header_of("\x16\x03\x01\x02"), max_head), Contains("TLS"));
    CHECK_THROWS_WITH(read_header(header_of("1WSP"), max_head), Contains("big-endian"));
    CHECK_THROWS_WITH(read_header(header_of("PSW9"), max_head), Contains("another version"));
    CHECK_THROWS_WITH(read_header(header_of("xyz"), max_head), Contains("no frame"));
  }
}

TEST_CASE("message heads", "[wire]") {
  const std::vector<uint64_t> good = sample_head();
  const auto bytes = std::as_bytes(std::span(good));
  SECTION("are read") {
    const msg::Message& m = read_head(bytes);
    CHECK(m.id() == 9);
    CHECK(m.body_as_Push()->begin()->batch() == 3);
  }
  SECTION("cut short anywhere are refused, or read without harm") {
    for (size_t n = 0; n < bytes.size(); ++n) {
      const std::vector<uint64_t> part(good.begin(), good.begin() + static_cast<long>((n + 7) / 8));
      try {
        read_head(std::as_bytes(std::span(part)).first(n));
      } catch (const Error& e) {
        CHECK(e.kind() == Error::Kind::protocol);
      }
    }
    CHECK_THROWS_AS(read_head(bytes.first(bytes.size() / 2 / 8 * 8)), Error);
  }
  SECTION("with any word changed are refused, or read without harm") {
    size_t refused = 0;
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4)
      for (const uint32_t value : {0u, 1u, 0xffffffffu, 0x7fffffffu, 0x80000000u}) {
        std::vector<uint64_t> bad = good;
        std::memcpy(reinterpret_cast<char*>(bad.data()) + at, &value, 4);
        try {
          const msg::Message& m = read_head(std::as_bytes(std::span(bad)));
          if (const auto* push = m.body_as_Push()) static_cast<void>(push->step());
        } catch (const Error&) {
          ++refused;
        }
      }
    CHECK(refused > 10);
  }
}
