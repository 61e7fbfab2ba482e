#include "io/sealed.h"

#include <zlib.h>

#include <cassert>
#include <cstring>

#include "base/error.h"

namespace paddle {
namespace {

struct SealHead {
  char magic[8];
  uint32_t bytes, crc32;
};
static_assert(sizeof(SealHead) == 16);

}  // namespace

uint32_t checksum(const void* data, size_t bytes, uint32_t so_far) {
  return static_cast<uint32_t>(crc32_z(so_far, static_cast<const Bytef*>(data), bytes));
}

std::string seal(std::string_view magic, const flatbuffers::FlatBufferBuilder& content) {
  assert(magic.size() == sizeof(SealHead::magic));
  SealHead head{};
  std::memcpy(head.magic, magic.data(), sizeof head.magic);
  head.bytes = content.GetSize();
  head.crc32 = checksum(content.GetBufferPointer(), content.GetSize());
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  return out.append(reinterpret_cast<const char*>(content.GetBufferPointer()), content.GetSize());
}

Unsealed unseal(std::string_view magic, std::string_view bytes, const std::string& name,
                const char* what, const char* remedy) {
  const auto need = [&](bool ok, const auto&... why) {
    require(ok, Error::Kind::data, "'", name, "' ", why..., remedy);
  };
  SealHead head;
  need(bytes.size() >= sizeof head, "is cut short");
  std::memcpy(&head, bytes.data(), sizeof head);
  need(std::memcmp(head.magic, magic.data(), sizeof head.magic) == 0, "is no ", what);
  Unsealed out;
  out.bytes = bytes.size() - sizeof head;
  need(head.bytes == out.bytes, "is cut short or has bytes too many");
  out.words.resize((out.bytes + 7) / 8);
  if (out.bytes > 0) std::memcpy(out.words.data(), bytes.data() + sizeof head, out.bytes);
  need(checksum(out.words.data(), out.bytes) == head.crc32, "was changed since it was written");
  return out;
}

}  // namespace paddle
