// "host", "host:port", "[address]" or "[address]:port", as people write where a server listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace paddle {

inline constexpr int64_t last_port = 65535;

struct EndpointText {
  std::string host;             // an IPv6 address without its brackets
  std::optional<int64_t> port;  // from 1 to last_port
  bool brackets = false;
};

// What is wrong with the text, for a sentence that begins with the text in quotes; "" if nothing.
std::string read_endpoint(const std::string& text, EndpointText& out);

}  // namespace paddle
