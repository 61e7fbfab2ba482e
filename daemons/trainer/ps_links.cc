#include "trainer/ps_links.h"

#include <algorithm>

#include "base/error.h"

namespace paddle {
namespace {

constexpr auto poll_period = std::chrono::microseconds(100);

}  // namespace

Links::Links(const std::vector<wire::Endpoint>& shards, double peer_timeout,
             int64_t spin_microseconds)
    : work_(io_.get_executor()),
      spin_(spin_microseconds),
      peer_timeout_(peer_timeout),
      endpoints_(shards) {
  for (size_t i = 0; i < shards.size(); ++i)
    links_.push_back(std::make_unique<ShardLink>(io_, shards[i], static_cast<uint32_t>(i)));
}

Links::~Links() {
  for (const auto& link : links_) link->hang_up();
}

void Links::deliver_to(ParamExchange& exchange) {
  for (const auto& link : links_) link->deliver_to(exchange);
}

wire::Connection& Links::connection(size_t shard) {
  ShardLink& link = *links_[shard];
  if (!link.open())
    throw Disrupted{text("pserver ", link.endpoint().text(), ": ", link.last_error())};
  return link.connection();
}

// A connection that is gone is found out, and mended, where the answer is awaited.
void Links::send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) {
  if (links_[shard]->open()) links_[shard]->connection().send(0, push, bulk);
}

void Links::send(uint32_t shard, const wire::Pull& pull) {
  if (links_[shard]->open()) links_[shard]->connection().send(0, pull);
}

void Links::flush() {
  for (const auto& link : links_)
    if (link->open()) link->connection().flush();
}

void Links::poll_sometimes() {
  const Time now = Clock::now();
  if (now - last_poll_ < poll_period) return;
  last_poll_ = now;
  flush();
  io_.poll();
}

void Links::start_heartbeat(const wire::Hello& hello) {
  heartbeat_.reset();
  heartbeat_ = std::make_unique<Heartbeat>(endpoints_, hello);
}

// A shard that is not connected is the business of those who join.
void Links::check_silence(Silence& silence, const std::string& what) {
  const Time now = Clock::now();
  const double passed = std::min(std::chrono::duration<double>(now - silence.looked).count(), 2.0);
  silence.looked = now;
  silence.heard.resize(links_.size(), Time{});
  silence.seconds.resize(links_.size(), 0);
  for (size_t i = 0; i < links_.size(); ++i) {
    Time heard = heartbeat_ ? heartbeat_->heard(i) : Time{};
    if (links_[i]->open()) heard = std::max(heard, links_[i]->connection().last_heard());
    const bool silent = links_[i]->open() && heard == silence.heard[i];
    silence.seconds[i] = silent ? silence.seconds[i] + passed : 0;
    silence.heard[i] = heard;
    require(silence.seconds[i] < peer_timeout_, Error::Kind::peer, "pserver ",
            links_[i]->endpoint().text(), " has not answered for ",
            static_cast<int>(silence.seconds[i]),
            " s (--peer_timeout sets how long to wait), while this trainer waited for ", what);
  }
}

}  // namespace paddle
