// Messages as they stand on the wire, for tests that write to a socket themselves.
#pragma once

#include <string>
#include <string_view>

#include "wire/frame.h"
#include "wire/messages.h"

namespace paddle {

// A head without its padding.
template <class X>
std::string head_of(uint64_t id, const X& body) {
  wire::MessageWriter writer;
  const wire::Bytes head = writer.write(id, body);
  return {reinterpret_cast<const char*>(head.data()), head.size()};
}

inline std::string frame_header(uint32_t head, uint64_t bulk) {
  std::string out(wire::header_bytes, '\0');
  wire::write_header(reinterpret_cast<std::byte*>(out.data()), {head, bulk});
  return out;
}

inline std::string frame_of(std::string_view head, std::string_view bulk) {
  const size_t padded = (head.size() + 7) / 8 * 8;
  std::string out = frame_header(static_cast<uint32_t>(padded), bulk.size());
  out.append(head).append(padded - head.size(), '\0');
  return out.append(bulk);
}

template <class X>
std::string frame_of(uint64_t id, const X& body, std::string_view bulk = "") {
  return frame_of(head_of(id, body), bulk);
}

}  // namespace paddle
