// The ops of a plan while they are being replaced by fewer ones, with an index of who reads and
// writes each variable: a question costs the same however many ops there are.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/op.h"

namespace paddle {

// An op keeps its position for as long as it lives; the order of positions is that of execution.
class OpList {
 public:
  static constexpr int none = -1;

  explicit OpList(std::vector<Op> ops);

  int size() const { return static_cast<int>(ops_.size()); }
  bool erased(int i) const { return erased_[static_cast<size_t>(i)]; }
  const Op& operator[](int i) const { return ops_[static_cast<size_t>(i)]; }

  // ---- questions about the ops that are not erased
  // The last op before `before` that writes the variable, or none.
  int writer(const std::string& name, int before);
  bool is_read(const std::string& name);
  // The op that reads the variable where there is exactly one, or none.
  int only_reader(const std::string& name);
  // Whether an op between the two (exclusive), other than those of `but`, writes or reads it.
  bool writes_between(int from, int to, const std::string& name, const std::vector<int>& but);
  bool reads_between(int from, int to, const std::string& name, const std::vector<int>& but);

  // ---- changes
  void replace(int i, Op op);
  void erase(int i);

  // Calls `match` with the position of an op of this type, always with the first one that may
  // match, until none does: the same order as from the start again after each match. An op that
  // did not match is tried again only after the answer to one of its questions may have changed.
  template <class Match>
  void match_all(std::string_view type, const Match& match) {
    readers_asked_.clear();
    writers_asked_.clear();
    waiting_.clear();
    for (int i = 0; i < size(); ++i)
      if (!erased(i) && (*this)[i].type == type) waiting_.insert(waiting_.end(), i);
    while (!waiting_.empty()) {
      asker_ = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      if (!erased(asker_)) match(asker_);
    }
  }

  // The ops that are left.
  std::vector<Op> take() &&;

 private:
  using Positions = std::set<int>;
  using Asked = std::unordered_map<std::string, std::vector<int>>;

  const Positions& readers(const std::string& name);
  const Positions& writers(const std::string& name);
  void add_uses(int i);
  void remove_uses(int i);
  void wake(Asked& asked, const std::string& name);

  std::vector<Op> ops_;
  std::vector<bool> erased_;
  std::unordered_map<std::string, Positions> readers_, writers_;
  // Who asked for the readers or writers of a name since they changed last.
  Asked readers_asked_, writers_asked_;
  Positions waiting_;  // to be tried
  int asker_ = none;   // is being tried
};

}  // namespace paddle
