#include "trainer/ps_link.h"

#include <algorithm>

#include "base/error.h"

namespace paddle {
namespace {

constexpr double connect_seconds = 5;
constexpr auto first_pause = std::chrono::milliseconds(20),
               last_pause = std::chrono::milliseconds(1000);

}  // namespace

void ShardLink::greet(const HelloFields& hello) {
  hang_up();
  broken_ = false;
  asio::co_spawn(io_, make(++attempt_, hello), asio::detached);
}

void ShardLink::hang_up() {
  ++attempt_;
  greeting_.reset();
  failure_.reset();
  landings_.clear();
  last_ack_ = next_id_;
  if (connection_) {
    const auto old = std::move(connection_);
    old->close("the trainer greets anew");
  }
}

// Until one attempt leads to a connection; what greets back is seen by handle(). Where somebody
// else listens, connections are made and lead to nothing: these wait longer each time, too.
asio::awaitable<void> ShardLink::make(uint64_t attempt, HelloFields hello) {
  asio::steady_timer timer(io_);
  while (attempt == attempt_) {
    if (in_vain_ > 0) {
      timer.expires_after(std::min(first_pause * (1 << std::min(in_vain_ - 1, 10)), last_pause));
      co_await timer.async_wait(asio::use_awaitable);
      if (attempt != attempt_) co_return;
    }
    try {
      tcp::socket socket = co_await wire::connect(to_, connect_seconds);
      if (attempt != attempt_) co_return;
      connection_ = wire::Connection::start(std::move(socket), *this, false);
      if (in_vain_++ == 0) trouble_ = "it does not greet back";
      send_hello(*connection_, hello, msg::Role::trainer, index_);
      co_return;
    } catch (const Error& e) {
      if (attempt != attempt_) co_return;
      trouble_ = e.what();
      ++in_vain_;
    }
  }
}

uint64_t ShardLink::expect_ack(std::span<std::byte> landing) {
  ++next_id_;
  if (!landing.empty()) landings_[next_id_] = landing;
  return next_id_;
}

std::span<std::byte> ShardLink::land(wire::Connection&, const msg::Message& head, uint64_t bulk) {
  if (const auto* values = head.body_as_Values()) return owner_.values_land(values->slice(), bulk);
  const auto found = landings_.find(head.id());
  require(head.body_as_Ack() != nullptr && found != landings_.end() && found->second.size() == bulk,
          Error::Kind::protocol, "it sent ", bulk, " bytes that nobody asked for");
  return found->second;
}

void ShardLink::handle(wire::Connection& from, const msg::Message& head, uint64_t) {
  if (&from != connection_.get()) return;
  switch (head.body_type()) {
    case msg::Body::Values: {
      const auto* v = head.body_as_Values();
      return owner_.values_came(v->slice(), v->version(), v->dropped());
    }
    case msg::Body::Ack:
      landings_.erase(head.id());
      last_ack_ = std::max(last_ack_, head.id());
      acked_version_ = head.body_as_Ack()->version();
      return;
    case msg::Body::Welcome:
      greeting_ = read_greeting(*head.body_as_Welcome(), to_.text());
      in_vain_ = 0;
      return;
    case msg::Body::Failure:
      failure_ = {head.body_as_Failure()->code(), head.body_as_Failure()->message()->str()};
      trouble_ = failure_->message;
      broken_ = true;
      return;
    default:
      throw Error(Error::Kind::protocol, "it sent a ", msg::EnumNameBody(head.body_type()),
                  ", which is for pservers");
  }
}

void ShardLink::closed(wire::Connection& from, const std::string& why) {
  if (&from != connection_.get()) return;
  if (!failure_) trouble_ = why;
  broken_ = true;
}

}  // namespace paddle
