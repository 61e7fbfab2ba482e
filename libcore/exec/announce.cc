// What a run will look up in the tables of a Remote, known as soon as its feeds are.
#include <algorithm>

#include "exec/plan.h"

namespace paddle {
namespace {

// Stands in the place of the Remote while the ids of a pull are numbered.
class Announcer final : public Remote {
 public:
  explicit Announcer(Remote& to) : to_(to) {}
  void push(int32_t, const View&, uint64_t) override {}
  void pull(int32_t, const View&, uint64_t) override {}
  void pull_rows(int32_t table, std::span<const uint64_t> ids, float*, uint64_t step) override {
    to_.announce_rows(table, ids, step);
  }

 private:
  Remote& to_;
};

}  // namespace

void Plan::announce(std::span<const Tensor> feeds, uint64_t step) {
  if (options_.gpu) ahead_.assign(feeds.begin(), feeds.end());
  if (!bound_ || tables_ || options_.gpu || options_.remote == nullptr ||
      !options_.remote->takes_announcements())
    return;
  for (const Step& s : steps_)
    if (s.op.type == "pull_rows") announce(s, feeds, step);
}

// The kernel itself runs, with other arguments: it writes its lists of ids to memory of their own,
// and the rows of the run at hand stay as they are.
void Plan::announce(const Step& pull, std::span<const Tensor> feeds, uint64_t step) {
  std::vector<View>& views = announced_.views;
  views.clear();
  size_t total = 0;
  for (const int var : pull.in) {
    const auto feed =
        static_cast<size_t>(std::find(feeds_.begin(), feeds_.end(), var) - feeds_.begin());
    if (feed >= feeds.size()) return;  // computed
    const PlanVar& v = vars_[static_cast<size_t>(var)];
    if (v.written || feeds[feed].dtype() != v.declared.dtype) return;
    View& view = views.emplace_back();
    view.data = feeds[feed].raw();
    view.dtype = feeds[feed].dtype();
    view.shape = feeds[feed].shape();
    total += static_cast<size_t>(view.numel());
  }
  announced_.ids.resize(2 * total + 1);
  int64_t* distinct = announced_.ids.data();
  int64_t* count = distinct + total;
  int64_t* numbers = count + 1;
  size_t list = 0;
  for (const auto& [slot, names] : pull.op.out)
    for (size_t k = 0; k < names.size(); ++k) {
      View view = *pull.args[views.size()];
      if (slot == "Rows") view.data = nullptr;  // so the op knows
      if (slot == "Distinct") view.data = distinct;
      if (slot == "Count") view.data = count;
      if (slot == "Numbers") {
        view.data = numbers;
        numbers += views[list++].numel();
      }
      views.push_back(view);
    }
  announced_.args.clear();
  for (View& v : views) announced_.args.push_back(&v);
  Announcer announcer(*options_.remote);
  try {
    pull.kernel(Run(announced_.args.data(), device_, scratch_, pull.seed, step, &announcer));
  } catch (const Error&) {  // an id outside of the table: that run reports it
  }
}

}  // namespace paddle
