#include "graph/infer.h"

namespace paddle {

int flat_index(const Slots& slots, std::string_view slot, int i) {
  int at = 0;
  for (const auto& [name, names] : slots) {
    if (name == slot) return i < static_cast<int>(names.size()) ? at + i : -1;
    at += static_cast<int>(names.size());
  }
  return -1;
}

const Meta& Infer::in(std::string_view slot, int i) const {
  const int at = flat_index(op_.in, slot, i);
  if (at < 0) fail("the input ", slot, " is missing");
  return *in_[static_cast<size_t>(at)];
}

std::optional<Longs> Infer::values(std::string_view slot, int i) const {
  const Meta& m = in(slot, i);
  check(m.dtype == DType::i32 || m.dtype == DType::i64, describe(slot, i),
        " must be int32 or int64, found ", name_of(m.dtype));
  if (m.value == nullptr) return std::nullopt;
  if (m.dtype == DType::i64) {
    const auto all = m.value->values<int64_t>();
    return Longs(all.begin(), all.end());
  }
  const auto all = m.value->values<int32_t>();
  return Longs(all.begin(), all.end());
}

Meta& Infer::out_meta(std::string_view slot, int i) {
  const int at = flat_index(op_.out, slot, i);
  if (at < 0) fail("the output ", slot, " is missing");
  return *out_[static_cast<size_t>(at)];
}

void Infer::out(std::string_view slot, const Shape& shape, DType dtype, int i) {
  if (flat_index(op_.out, slot, i) < 0) return;
  Meta& m = out_meta(slot, i);
  m.kind = VarKind::lod_tensor;
  m.shape = shape;
  m.dtype = dtype;
}

void Infer::out_like(std::string_view out_slot, std::string_view in_slot, int i) {
  if (flat_index(op_.out, out_slot, i) < 0) return;
  out_meta(out_slot, i) = in(in_slot, i);
}

void Infer::out_rows(std::string_view slot, const Shape& value, DType dtype, int64_t height) {
  if (flat_index(op_.out, slot, 0) < 0) return;
  Meta& m = out_meta(slot);
  m = Meta{.kind = VarKind::selected_rows, .dtype = dtype, .shape = value, .height = height};
}

void Infer::share_lod(std::string_view in_slot, std::string_view out_slot, int i) {
  if (flat_index(op_.out, out_slot, i) < 0) return;
  const Meta& from = in(in_slot);
  Meta& to = out_meta(out_slot, i);
  to.lod_level = from.lod_level;
  to.lod = from.lod;
}

void Infer::make_lod(std::string_view slot, Lod lod) {
  if (lods_ == nullptr || flat_index(op_.out, slot, 0) < 0) return;
  const Lod& kept = lods_->emplace_back(std::move(lod));
  Meta& to = out_meta(slot);
  to.lod_level = static_cast<int32_t>(kept.size());
  to.lod = kept.empty() ? nullptr : &kept;
}

std::string Infer::describe(std::string_view slot, int i) const {
  const int at = flat_index(op_.in, slot, i);
  if (at < 0) return text(slot, " (absent)");
  return text(slot, " (", op_.in[slot][static_cast<size_t>(i)], ") ",
              in_[static_cast<size_t>(at)]->shape);
}

void Infer::check_same(std::string_view slot_a, std::string_view slot_b) const {
  check(shape(slot_a).compatible(shape(slot_b)), "the shapes of ", describe(slot_a), " and ",
        describe(slot_b), " must be equal");
}

}  // namespace paddle
