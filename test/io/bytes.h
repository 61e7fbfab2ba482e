// Files written out byte by byte in tests.
#pragma once

#include <initializer_list>
#include <string>

namespace paddle {

inline std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

// A number as it stands in a file.
template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A protobuf field of text or of a record: tag, length, content (up to 127 bytes, or 16383).
inline std::string field(int tag, const std::string& content) {
  std::string out = bytes({tag});
  if (content.size() < 128) return out + bytes({static_cast<int>(content.size())}) + content;
  return out +
         bytes({static_cast<int>(content.size() & 127) | 128,
                static_cast<int>(content.size() >> 7)}) +
         content;
}

}  // namespace paddle
