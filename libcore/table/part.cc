#include "table/part.h"

#include <cstring>

#include "base/error.h"
#include "table/checksum.h"
#include "table/table.h"

namespace paddle {
namespace {

constexpr char part_magic[8] = {'P', 'S', 'T', 'A', 'B', 'L', 'E', '1'};
constexpr size_t summed_from = offsetof(PartHead, kind);

void append(std::vector<std::byte>& to, const void* from, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

}  // namespace

PartFormat part_format(const TableOptions& o, const RowLayout& layout) {
  uint64_t kind = hash_text(o.name) ^ mix64(hash_text(o.rule));
  for (const int64_t n : {o.width, int64_t{o.bf16}, layout.state_numbers})
    kind = mix64(kind ^ static_cast<uint64_t>(n));
  return {o.name, kind, layout};
}

PartFormat part_format(const TableOptions& o) {
  const RowUpdate update(o.rule, o.settings, o.l2, o.width);
  return part_format(o, {o.width, o.bf16, update.state_numbers()});
}

void PartWriter::begin(std::vector<std::byte>& chunk, uint32_t part) {
  chunk_ = &chunk;
  head_ = {};
  std::memcpy(head_.magic, part_magic, sizeof head_.magic);
  head_.kind = format_.kind;
  head_.part = part;
  head_.row_bytes = static_cast<uint32_t>(format_.layout.row_bytes());
  chunk.clear();
  chunk.resize(sizeof head_);
}

void PartWriter::remove(uint64_t id) {
  append(*chunk_, &id, sizeof id);
  ++head_.removed;
}

void PartWriter::add(const std::byte* row) {
  append(*chunk_, row, format_.layout.row_bytes());
  ++head_.rows;
}

void PartWriter::add_all(std::span<const std::byte> rows) {
  append(*chunk_, rows.data(), rows.size());
  head_.rows += rows.size() / format_.layout.row_bytes();
}

void PartWriter::add(const RowHead& head, const float* values, std::span<const float> states) {
  const RowLayout& layout = format_.layout;
  const size_t at = chunk_->size();
  chunk_->resize(at + layout.row_bytes());
  std::byte* row = chunk_->data() + at;
  *head_of(row) = head;
  layout.write(values, row);
  if (!states.empty()) std::memcpy(layout.states(row), states.data(), states.size_bytes());
  ++head_.rows;
}

void PartWriter::end(uint32_t clock, uint32_t since, bool last) {
  head_.clock = clock;
  head_.since = since;
  head_.last = last;
  std::memcpy(chunk_->data(), &head_, sizeof head_);
  head_.checksum = checksum64(chunk_->data() + summed_from, chunk_->size() - summed_from);
  std::memcpy(chunk_->data(), &head_, sizeof head_);
}

PartView read_part(std::span<const std::byte> chunk, const PartFormat& format) {
  const auto refuse_unless = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "a part of a dump of the table '", format.table, "' ", why,
            ": use another checkpoint");
  };
  PartView out;
  PartHead& head = out.head;
  refuse_unless(chunk.size() >= sizeof head, "is cut short");
  std::memcpy(&head, chunk.data(), sizeof head);
  refuse_unless(std::memcmp(head.magic, part_magic, sizeof head.magic) == 0, "is none");
  refuse_unless(checksum64(chunk.data() + summed_from, chunk.size() - summed_from) == head.checksum,
                "is damaged: its checksum differs");
  refuse_unless(head.kind == format.kind && head.row_bytes == format.layout.row_bytes(),
                "belongs to a table of another name, width, type or optimizer");
  const size_t content = chunk.size() - sizeof head;
  refuse_unless(head.removed <= content / 8 && head.rows <= content / head.row_bytes &&
                    head.removed * 8 + head.rows * head.row_bytes == content,
                "has another length than it says");
  out.removed = chunk.data() + sizeof head;
  out.rows = chunk.subspan(sizeof head + static_cast<size_t>(head.removed) * 8);
  return out;
}

}  // namespace paddle
