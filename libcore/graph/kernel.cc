#include "graph/kernel.h"

#include "graph/infer.h"

namespace paddle {
namespace {

Arg find_arg(const Slots& slots, std::string_view slot, int offset) {
  const Names& names = slots[slot];
  if (names.empty() || (names.size() == 1 && names[0] == empty_name)) return {};
  return {offset + flat_index(slots, slot, 0), static_cast<int>(names.size())};
}

template <class List>
auto item(const List& list, const Slots& slots, std::string_view slot, int i) {
  const int at = flat_index(slots, slot, i);
  require(at >= 0, Error::Kind::config, "the op has no ", slot);
  return list[static_cast<size_t>(at)];
}

}  // namespace

void Remote::pull_rows(int32_t table, std::span<const uint64_t>, float*, uint64_t) {
  throw Error(Error::Kind::config, "nobody keeps the rows of table ", table, " of this program");
}

void Remote::announce_rows(int32_t, std::span<const uint64_t>, uint64_t) {}

void Remote::push_rows(int32_t table, std::span<const uint64_t>, const float*, uint64_t) {
  throw Error(Error::Kind::config, "nobody keeps the rows of table ", table, " of this program");
}

Arg Bind::in(std::string_view slot) const { return find_arg(op_.in, slot, 0); }
Arg Bind::out(std::string_view slot) const {
  return find_arg(op_.out, slot, static_cast<int>(in_types_.size()));
}
DType Bind::dtype(std::string_view slot, int i) const { return item(in_types_, op_.in, slot, i); }
DType Bind::out_dtype(std::string_view slot, int i) const {
  return item(out_types_, op_.out, slot, i);
}
bool Bind::is_rows(std::string_view slot, int i) const { return item(in_rows_, op_.in, slot, i); }

}  // namespace paddle
