#include "wire/frame.h"

#include <cstring>

#include "base/error.h"

namespace paddle::wire {
namespace {

std::string looks_like(std::span<const std::byte, header_bytes> bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  for (const char* verb : {"GET ", "POST", "HEAD", "PUT ", "OPTI", "HTTP"})
    if (std::memcmp(text, verb, 4) == 0) return ": it looks like HTTP";
  if (text[0] == 0x16 && text[1] == 0x03)
    return ": it looks like TLS, and this pserver has no --cert_file";
  if (std::memcmp(text, "PSA1", 4) == 0)
    return ": it uses a job token, and this pserver was started without --token_file";
  if (std::memcmp(text, "1WSP", 4) == 0) return ": it comes from a big-endian machine";
  if (std::memcmp(text, "PSW", 3) == 0) return ": it comes from another version of this program";
  return "";
}

}  // namespace

void write_header(std::byte* out, const FrameHeader& header) {
  std::memcpy(out, &magic, 4);
  std::memcpy(out + 4, &header.head, 4);
  std::memcpy(out + 8, &header.bulk, 8);
}

FrameHeader read_header(std::span<const std::byte, header_bytes> bytes, uint32_t head_limit) {
  uint32_t first = 0;
  FrameHeader header;
  std::memcpy(&first, bytes.data(), 4);
  std::memcpy(&header.head, bytes.data() + 4, 4);
  std::memcpy(&header.bulk, bytes.data() + 8, 8);
  require(first == magic, Error::Kind::protocol, "this is no frame of the paddle protocol",
          looks_like(bytes));
  require(header.head > 0 && header.head % 8 == 0, Error::Kind::protocol, "a frame with a head of ",
          header.head, " bytes, which must be a multiple of 8");
  require(header.head <= head_limit, Error::Kind::protocol, "a frame with a head of ", header.head,
          " bytes; at most ", head_limit, " are allowed here");
  return header;
}

}  // namespace paddle::wire
