#include "io/program_check.h"

namespace paddle {
namespace {

constexpr auto damaged = Error::Kind::data;

void check_reference(int32_t idx, size_t blocks, std::string_view op, std::string_view attr) {
  require(idx >= 0 && static_cast<size_t>(idx) < blocks, damaged, "the attribute '", attr,
          "' of an op '", op, "' names block ", idx, ", but the program has ", blocks, " blocks");
}

}  // namespace

void check_block(size_t idx, int32_t parent, int32_t forward, size_t count) {
  // Parents before children: so that walking up always ends.
  require(idx == 0 ? parent == -1 : parent >= 0 && static_cast<size_t>(parent) < idx, damaged,
          "block ", idx, " has parent ", parent, ", expected ",
          idx == 0 ? "-1" : "a block before it");
  require(forward >= -1 && forward < static_cast<int64_t>(count), damaged, "block ", idx,
          " has forward block ", forward, " in a program of ", count, " blocks");
}

void add_slot(Slots& slots, std::string_view op, std::string_view slot, Names names) {
  require(slots.size() < max_slots, damaged, "an op '", op, "' has more than ", max_slots,
          " slots");
  for (const Slots::Entry& e : slots)
    require(e.first != slot, damaged, "an op '", op, "' has the slot '", slot, "' twice");
  slots.set(slot, std::move(names));
}

void add_attr(Attrs& attrs, std::string_view op, std::string_view attr, Attr value, size_t blocks) {
  require(attrs.size() < max_attrs, damaged, "an op '", op, "' has more than ", max_attrs,
          " attributes");
  require(!attrs.has(attr), damaged, "an op '", op, "' has the attribute '", attr, "' twice");
  if (const auto* one = std::get_if<BlockRef>(&value))
    check_reference(one->index, blocks, op, attr);
  if (const auto* many = std::get_if<BlockRefs>(&value))
    for (const int32_t idx : many->indices) check_reference(idx, blocks, op, attr);
  attrs.set(attr, std::move(value));
}

void add_var(Block& block, Var var) {
  require(block.find_local(var.name) == nullptr, damaged, "block ", block.idx(),
          " has the variable '", var.name, "' twice");
  block.create(std::move(var));
}

}  // namespace paddle
