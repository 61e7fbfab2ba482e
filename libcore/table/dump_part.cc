#include "table/dump_part.h"

#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "table/checksum.h"
#include "table/table.h"

namespace paddle {
namespace {

constexpr char dump_magic[8] = {'P', 'S', 'T', 'A', 'B', 'L', 'E', '1'};
constexpr size_t summed_from = offsetof(PartHead, kind);

}  // namespace

uint64_t kind_of(const TableOptions& o, int64_t state_numbers) {
  uint64_t kind = hash_text(o.name) ^ mix64(hash_text(o.rule));
  for (const int64_t n : {o.width, int64_t{o.bf16}, state_numbers})
    kind = mix64(kind ^ static_cast<uint64_t>(n));
  return kind;
}

PartView read_part(std::span<const std::byte> part, const std::string& table, uint64_t kind,
                   size_t row_bytes) {
  const auto refuse_unless = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "a part of a dump of the table '", table, "' ", why,
            ": use another checkpoint");
  };
  PartView out;
  PartHead& head = out.head;
  refuse_unless(part.size() >= sizeof head, "is cut short");
  std::memcpy(&head, part.data(), sizeof head);
  refuse_unless(std::memcmp(head.magic, dump_magic, sizeof head.magic) == 0, "is none");
  refuse_unless(checksum64(part.data() + summed_from, part.size() - summed_from) == head.checksum,
                "is damaged: its checksum differs");
  refuse_unless(head.kind == kind && head.row_bytes == row_bytes,
                "belongs to a table of another name, width, type or optimizer");
  const size_t content = part.size() - sizeof head;
  refuse_unless(head.removed <= content / 8 && head.rows <= content / head.row_bytes &&
                    head.removed * 8 + head.rows * head.row_bytes == content,
                "has another length than it says");
  out.removed = part.subspan(sizeof head, static_cast<size_t>(head.removed) * 8);
  out.rows = part.subspan(sizeof head + out.removed.size());
  return out;
}

void seal_part(std::vector<std::byte>& part, PartHead head) {
  std::memcpy(head.magic, dump_magic, sizeof head.magic);
  std::memcpy(part.data(), &head, sizeof head);
  head.checksum = checksum64(part.data() + summed_from, part.size() - summed_from);
  std::memcpy(part.data(), &head, sizeof head);
}

}  // namespace paddle
