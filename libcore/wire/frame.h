// Frames: what stands on the wire around each message. A header of 16 bytes (magic, length of the
// head, length of the bulk), the head (a FlatBuffer, schemas/wire.fbs, padded to 8 bytes), the bulk
// (raw numbers). All little-endian. schemas/README.md describes them byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace paddle::wire {

constexpr uint32_t protocol_version = 3;
constexpr uint32_t magic = 0x31575350;  // "PSW1"
constexpr size_t header_bytes = 16;
constexpr uint32_t max_greeting = 64u << 10;  // head of the first message of a connection
constexpr uint32_t max_head = 64u << 20;      // and of those that follow

struct FrameHeader {
  uint32_t head = 0;  // bytes, a multiple of 8
  uint64_t bulk = 0;  // bytes
};

void write_header(std::byte* out, const FrameHeader& header);

// Throws Error(protocol) for bytes that no frame begins with; the sentence says what they look like
// (HTTP, TLS, another byte order) and which limit was passed.
FrameHeader read_header(std::span<const std::byte, header_bytes> bytes, uint32_t head_limit);

}  // namespace paddle::wire
