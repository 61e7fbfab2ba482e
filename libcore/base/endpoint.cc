#include "base/endpoint.h"

#include <charconv>

namespace paddle {
namespace {

std::optional<int64_t> parse_port(const std::string& word) {
  int64_t port = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), port);
  if (failure != std::errc() || end != word.data() + word.size() || port < 1 || port > last_port)
    return std::nullopt;
  return port;
}

bool is_host(const std::string& host) {
  return !host.empty() && host.find_first_of(" \t/@[]") == std::string::npos;
}

}  // namespace

std::string read_endpoint(const std::string& text, EndpointText& out) {
  if (text.empty()) return "is empty";
  size_t colon = text.rfind(':');
  out.brackets = text[0] == '[';
  if (out.brackets) {
    const size_t close = text.find(']');
    if (close == std::string::npos) return "has no closing bracket";
    out.host = text.substr(1, close - 1);
    if (!is_host(out.host)) return "has no address in its brackets";
    if (close + 1 == text.size()) return "";
    if (text[close + 1] != ':') return "must be [address] or [address]:port";
    colon = close + 1;
  } else if (colon != std::string::npos && text.find(':') != colon) {
    return "has several colons; an IPv6 address stands in brackets: [" + text + "]";
  } else {
    out.host = text.substr(0, colon);
    if (!is_host(out.host)) return "is no host name or address";
    if (colon == std::string::npos) return "";
  }
  out.port = parse_port(text.substr(colon + 1));
  return out.port ? "" : "has no port from 1 to 65535 after its last colon";
}

}  // namespace paddle
