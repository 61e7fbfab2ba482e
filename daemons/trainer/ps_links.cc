#include "trainer/ps_links.h"

#include "base/error.h"

namespace paddle {

Links::Links(const std::vector<std::string>& endpoints, double peer_timeout, Heartbeats& heartbeats)
    : peer_timeout_(peer_timeout), heartbeats_(heartbeats) {
  for (size_t i = 0; i < endpoints.size(); ++i)
    states_.emplace_back(static_cast<uint32_t>(i), endpoints[i]);
}

void Links::deliver_to(ParamExchange& exchange, RowExchange& rows) {
  for (LinkState& s : states_) s.deliver_to(exchange, rows);
}

ShardNews Links::news() const {
  std::vector<uint64_t> instances;
  for (const LinkState& s : states_) instances.push_back(s.instance());
  return merged(heartbeats_.news_of_each(), instances, now());
}

void Links::require_open(size_t shard) const {
  if (!open(shard))
    throw Disrupted{text("pserver ", states_[shard].endpoint(), ": ", states_[shard].last_error())};
}

// Of shards that are connected only: joining has its own deadline for the others.
void Links::check_silence(Silence& silence, const std::string& what) {
  const Time at = now();
  const ShardNews told = news();
  require(told.failure.empty(), Error::Kind::peer, "the job ended: ", told.failure);
  const double passed = std::min(seconds(silence.looked, at), 2.0);
  silence.looked = at;
  silence.heard.resize(size(), Time{});
  silence.seconds.resize(size(), 0);
  for (size_t i = 0; i < size(); ++i) {
    const Time last = heard(i);
    const bool silent = open(i) && last == silence.heard[i];
    silence.seconds[i] = silent ? silence.seconds[i] + passed : 0;
    silence.heard[i] = last;
    require(silence.seconds[i] < peer_timeout_, Error::Kind::peer, "pserver ",
            states_[i].endpoint(), " has not answered for ", static_cast<int>(silence.seconds[i]),
            " s (--peer_timeout sets how long to wait), while this trainer waited for ", what);
  }
}

}  // namespace paddle
