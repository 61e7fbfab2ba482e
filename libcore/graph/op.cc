#include "graph/op.h"

#include <algorithm>

namespace paddle {

const Names& Slots::operator[](std::string_view slot) const {
  static const Names none;
  for (const Entry& e : entries_)
    if (e.first == slot) return e.second;
  return none;
}

void Slots::set(std::string_view slot, Names names) {
  for (Entry& e : entries_) {
    if (e.first == slot) {
      e.second = std::move(names);
      return;
    }
  }
  entries_.emplace_back(std::string(slot), std::move(names));
}

void Slots::rename(std::string_view from, std::string_view to) {
  for (Entry& e : entries_)
    std::replace(e.second.begin(), e.second.end(), std::string(from), std::string(to));
}

bool Slots::uses(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return std::find(e.second.begin(), e.second.end(), name) != e.second.end();
  });
}

Names Slots::all() const {
  Names out;
  for (const Entry& e : entries_) out.insert(out.end(), e.second.begin(), e.second.end());
  return out;
}

namespace {
std::string slots_text(const Slots& slots) {
  std::string out;
  for (const auto& [slot, names] : slots) {
    out += (out.empty() ? "" : ", ") + slot + "=[";
    for (size_t i = 0; i < names.size(); ++i) out += (i ? ", " : "") + names[i];
    out += "]";
  }
  return out;
}
}  // namespace

std::string op_text(const Op& op) {
  std::string out = op.type + ":";
  if (op.out.size() > 0) out += " " + slots_text(op.out);
  if (op.in.size() > 0) out += " <- " + slots_text(op.in);
  return out;
}

std::string op_with_origin(const Op& op) {
  return op.origin.empty() ? op_text(op) : op_text(op) + ", made at " + op.origin;
}

}  // namespace paddle
