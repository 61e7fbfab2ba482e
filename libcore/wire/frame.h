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

constexpr uint32_t protocol_version = 7;
constexpr uint32_t magic = 0x31575350;  // "PSW1"
constexpr size_t header_bytes = 16;
// What a connection may take: of anybody little, of a trainer what its data needs.
struct Limits {
  uint32_t head = 64u << 20;   // bytes of the head of a message
  size_t answers = 4u << 20;   // small answers that it has to read before it is heard again
  size_t buffer = 256u << 10;  // for reading
};
inline constexpr Limits greeting_limits{
    .head = 64u << 10, .answers = 64u << 10, .buffer = 16u << 10};
inline constexpr Limits beat_limits{.head = 64u << 10, .answers = 64u << 10, .buffer = 16u << 10};
inline constexpr Limits observer_limits{
    .head = 4u << 10, .answers = 64u << 10, .buffer = 16u << 10};
inline constexpr Limits trainer_limits{};

struct FrameHeader {
  uint32_t head = 0;  // bytes, a multiple of 8
  uint64_t bulk = 0;  // bytes
};

void write_header(std::byte* out, const FrameHeader& header);

// Throws Error(protocol) for bytes that no frame begins with; the sentence says what they look like
// (HTTP, TLS, another byte order) and which limit was passed.
FrameHeader read_header(std::span<const std::byte, header_bytes> bytes, uint32_t head_limit);

}  // namespace paddle::wire
