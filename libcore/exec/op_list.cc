#include "exec/op_list.h"

#include <algorithm>
#include <utility>

namespace paddle {
namespace {

bool any_between(const std::set<int>& positions, int from, int to, const std::vector<int>& but) {
  for (auto it = positions.upper_bound(from); it != positions.end() && *it < to; ++it)
    if (std::find(but.begin(), but.end(), *it) == but.end()) return true;
  return false;
}

}  // namespace

OpList::OpList(std::vector<Op> ops) : ops_(std::move(ops)), erased_(ops_.size(), false) {
  for (int i = 0; i < size(); ++i) add_uses(i);
}

const OpList::Positions& OpList::readers(const std::string& name) {
  readers_asked_[name].push_back(asker_);
  return readers_[name];
}

const OpList::Positions& OpList::writers(const std::string& name) {
  writers_asked_[name].push_back(asker_);
  return writers_[name];
}

int OpList::writer(const std::string& name, int before) {
  const Positions& all = writers(name);
  const auto it = all.lower_bound(before);
  return it == all.begin() ? none : *std::prev(it);
}

bool OpList::is_read(const std::string& name) { return !readers(name).empty(); }

int OpList::only_reader(const std::string& name) {
  const Positions& all = readers(name);
  return all.size() == 1 ? *all.begin() : none;
}

bool OpList::writes_between(int from, int to, const std::string& name,
                            const std::vector<int>& but) {
  return any_between(writers(name), from, to, but);
}

bool OpList::reads_between(int from, int to, const std::string& name, const std::vector<int>& but) {
  return any_between(readers(name), from, to, but);
}

void OpList::replace(int i, Op op) {
  remove_uses(i);
  ops_[static_cast<size_t>(i)] = std::move(op);
  add_uses(i);
}

void OpList::erase(int i) {
  remove_uses(i);
  ops_[static_cast<size_t>(i)] = {};
  erased_[static_cast<size_t>(i)] = true;
}

void OpList::add_uses(int i) {
  for (const std::string& name : (*this)[i].in.all()) {
    readers_[name].insert(i);
    wake(readers_asked_, name);
  }
  for (const std::string& name : (*this)[i].out.all()) {
    writers_[name].insert(i);
    wake(writers_asked_, name);
  }
}

void OpList::remove_uses(int i) {
  for (const std::string& name : (*this)[i].in.all()) {
    readers_[name].erase(i);
    wake(readers_asked_, name);
  }
  for (const std::string& name : (*this)[i].out.all()) {
    writers_[name].erase(i);
    wake(writers_asked_, name);
  }
}

void OpList::wake(Asked& asked, const std::string& name) {
  const auto it = asked.find(name);
  if (it == asked.end()) return;
  waiting_.insert(it->second.begin(), it->second.end());
  asked.erase(it);
}

std::vector<Op> OpList::take() && {
  std::vector<Op> out;
  out.reserve(ops_.size());
  for (int i = 0; i < size(); ++i)
    if (!erased(i)) out.push_back(std::move(ops_[static_cast<size_t>(i)]));
  return out;
}

}  // namespace paddle
