#include "pserver/peer_link.h"

#include "pserver/service.h"

namespace paddle {
namespace {

constexpr double greeting_seconds = 10, frame_seconds = 30, reading_seconds = 60,
                 observer_seconds = 120;
constexpr double slowest = 1024;  // bytes per second that a message must come with

}  // namespace

void PeerLink::start(std::unique_ptr<wire::Stream> stream) {
  connection_ = wire::Connection::start(std::move(stream), *this, true, service_.memory());
  progress_ = connection_->since();
}

wire::Landing PeerLink::land(wire::Connection&, const wire::Message& message, uint64_t bulk) {
  return service_.land(*this, message, bulk);
}

void PeerLink::landed(wire::Connection&, std::span<std::byte> part) {
  service_.landed(*this, part.size());
}

void PeerLink::handle(wire::Connection&, wire::Message& message, uint64_t bulk) {
  service_.handle(*this, message, bulk);
}

void PeerLink::arrived(wire::Connection&) { service_.flush(); }

void PeerLink::closed(wire::Connection&, const std::string& why) { service_.closed(*this, why); }

Traffic PeerLink::traffic() const {
  return {connection_->bytes_in(), connection_->bytes_out(), connection_->messages_in(),
          connection_->messages_out()};
}

void PeerLink::check_deadlines(const Peer& peer, Time now) {
  wire::Connection& c = *connection_;
  if (peer.greeted && !wire::takes_part(peer.role) &&
      seconds(c.last_heard(), now) > observer_seconds)
    return c.close(text("an observer that asked for nothing for ", observer_seconds, " s"));
  if (!peer.greeted && seconds(c.since(), now) > greeting_seconds)
    return c.close(text("no greeting for ", greeting_seconds, " s"));
  const bool within = c.within_frame() && !c.held() && !c.paused();  // those wait for us
  if (within && seconds(c.last_heard(), now) > frame_seconds)
    return c.close(text("half a message, and nothing more for ", frame_seconds, " s"));
  if (!within || c.messages_in() != frame_) {
    frame_ = c.messages_in();
    frame_bytes_ = c.bytes_in();
    frame_since_ = now;
  } else if (const double took = seconds(frame_since_, now);
             took > frame_seconds &&
             static_cast<double>(c.bytes_in() - frame_bytes_) < slowest * took) {
    return c.close(text("a message that comes with less than ", slowest, " bytes/s"));
  }
  if (c.queued() == 0 || c.bytes_out() != sent_before_) {
    sent_before_ = c.bytes_out();
    progress_ = now;
  } else if (seconds(progress_, now) > reading_seconds) {
    c.close(text("it has not read its answers for ", reading_seconds, " s"));
  }
}

}  // namespace paddle
