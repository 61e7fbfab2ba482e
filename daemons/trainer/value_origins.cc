#include "trainer/value_origins.h"

#include <algorithm>

namespace paddle {
namespace {

constexpr uint64_t all_versions = ~uint64_t{0};

uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

const wire::Origin* find_instance(std::span<const wire::Origin> list, uint64_t instance) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const wire::Origin& o) { return o.instance == instance; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

std::vector<wire::Origin> common_origins(std::span<const wire::Origin> a,
                                         std::span<const wire::Origin> b) {
  for (size_t i = a.size(); i > 0; --i)
    if (const wire::Origin* other = find_instance(b, a[i - 1].instance)) {
      std::vector<wire::Origin> out(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(i));
      out.back().version = std::min(out.back().version, other->version);
      return out;
    }
  return {};
}

size_t ValueOrigins::common(const ShardValues& there, uint64_t& version) const {
  for (size_t i = lives_.size(); i > 0; --i) {
    const wire::Origin* found = find_instance(there.origins, lives_[i - 1].instance);
    if (found == nullptr && lives_[i - 1].instance != there.instance) continue;
    version = found ? found->version : all_versions;
    return i - 1;
  }
  return nothing;
}

ValueOrigins::Found ValueOrigins::find(const ShardValues& there, uint64_t counted) const {
  Found out{.steps = ever_};
  uint64_t version = 0;
  const size_t at = common(there, version);
  if (at == nothing) {  // anything may be in the values, or nothing
    out.later = counted;
    out.strange = !lives_.empty() && !there.origins.empty();
    return out;
  }
  const Life& life = lives_[at];
  const bool last = at + 1 == lives_.size();
  const uint64_t until = last ? counted : lives_[at + 1].accounted;
  out.later = less(counted, until);
  out.versions = less(std::max(life.version, life.counted_to), version);
  if (version < life.until) out.unanswered = life.unanswered;
  out.steps_there = less(until, life.accounted);
  return out;
}

bool ValueOrigins::join(const ShardValues& there, const Own& own) {
  ever_ = std::max(ever_, own.steps);
  if (!lives_.empty() && lives_.back().instance == there.instance) return false;
  if (arrived_) held_ = of_values();
  arrived_ = false;
  const bool first = lives_.empty();
  uint64_t version = 0;
  const size_t at = common(there, version);
  lives_.resize(at == nothing ? 0 : at + 1);
  if (at != nothing) {
    Life& newest = lives_.back();
    const uint64_t of_slice = std::max(version, own.version);
    if (own.unanswered > 0 && version != all_versions) {
      newest.unanswered = own.unanswered;
      newest.until = of_slice;
    }
    newest.counted_to = std::min(std::max(newest.version, newest.counted_to), of_slice);
    newest.version = std::min(newest.version, version);
  }
  // What the process before this one has pushed may be anywhere.
  const Life fresh{.accounted = first && own.known ? 0 : own.counted};
  size_t next = 0;
  for (size_t i = 0; i < there.origins.size() && at != nothing; ++i)
    if (there.origins[i].instance == lives_.back().instance) next = i + 1;
  for (; next < there.origins.size(); ++next) {
    lives_.push_back(fresh);
    lives_.back().instance = there.origins[next].instance;
    lives_.back().version = there.origins[next].version;
  }
  lives_.push_back(fresh);
  lives_.back().instance = there.instance;
  lives_.back().version = there.base;
  if (lives_.size() > wire::max_origins)
    lives_.erase(lives_.begin(), lives_.end() - static_cast<std::ptrdiff_t>(wire::max_origins));
  return true;
}

void ValueOrigins::pushed(uint64_t steps) { ever_ = std::max(ever_, steps); }

void ValueOrigins::arrived(uint64_t version) {
  if (lives_.empty()) return;
  lives_.back().version = version;
  arrived_ = true;
}

std::vector<wire::Origin> ValueOrigins::of_values() const {
  if (!arrived_) return held_;
  std::vector<wire::Origin> out;
  for (const Life& l : lives_) out.push_back({l.instance, l.version});
  return out;
}

}  // namespace paddle
