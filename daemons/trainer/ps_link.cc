#include "trainer/ps_link.h"

#include <algorithm>

#include "base/error.h"
#include "trainer/heartbeat.h"

namespace paddle {
namespace {

constexpr double connect_seconds = 5;
constexpr auto first_pause = std::chrono::milliseconds(20),
               last_pause = std::chrono::milliseconds(1000);

}  // namespace

void ShardLink::greet(const wire::Hello& hello) {
  hang_up();
  asio::co_spawn(io_, make(++attempt_, hello), asio::detached);
}

void ShardLink::hang_up() {
  ++attempt_;
  broken_ = false;
  welcome_.reset();
  failure_.reset();
  landings_.clear();
  last_ack_ = next_id_;
  if (connection_) {
    const auto old = std::move(connection_);
    old->close("the trainer connects again");
  }
}

// Until one attempt leads to a connection; what greets back is seen by handle(). Where another
// program listens, connections are made and lead to nothing: these wait longer each time, too.
asio::awaitable<void> ShardLink::make(uint64_t attempt, wire::Hello hello) {
  asio::steady_timer timer(io_);
  while (attempt == attempt_) {
    if (failed_attempts_ > 0) {
      timer.expires_after(
          std::min(first_pause * (1 << std::min(failed_attempts_ - 1, 10)), last_pause));
      co_await timer.async_wait(asio::use_awaitable);
      if (attempt != attempt_) co_return;
    }
    try {
      tcp::socket socket = co_await wire::connect(to_, connect_seconds);
      if (attempt != attempt_) co_return;
      connection_ = wire::Connection::start(std::move(socket), *this, false);
      if (failed_attempts_++ == 0) last_error_ = "it does not greet back";
      send_hello(*connection_, hello, index_);
      co_return;
    } catch (const Error& e) {
      if (attempt != attempt_) co_return;
      last_error_ = e.what();
      ++failed_attempts_;
    }
  }
}

uint64_t ShardLink::expect_ack(std::span<std::byte> landing) {
  ++next_id_;
  if (!landing.empty()) landings_[next_id_] = landing;
  return next_id_;
}

wire::Landing ShardLink::land(wire::Connection&, const wire::Message& message, uint64_t bulk) {
  if (const auto* values = std::get_if<wire::Values>(&message.body))
    return wire::Landing::into_pieces(exchange_->landing(index_, *values, bulk));
  const auto found = landings_.find(message.id);
  require(std::holds_alternative<wire::Ack>(message.body) && found != landings_.end() &&
              found->second.size() == bulk,
          Error::Kind::protocol, "it sent ", bulk, " bytes that nobody asked for");
  return wire::Landing::into(found->second);
}

void ShardLink::handle(wire::Connection& from, wire::Message& message, uint64_t) {
  if (&from != connection_.get()) return;
  if (const auto* values = std::get_if<wire::Values>(&message.body)) {
    exchange_->arrived(index_, *values);
  } else if (const auto* ack = std::get_if<wire::Ack>(&message.body)) {
    landings_.erase(message.id);
    last_ack_ = std::max(last_ack_, message.id);
    lowest_version_ = std::min(lowest_version_, ack->version);
  } else if (auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    welcome_ = std::move(*welcome);
    failed_attempts_ = 0;
  } else if (auto* failure = std::get_if<wire::Failure>(&message.body)) {
    failure_ = std::move(*failure);
    last_error_ = failure_->message;
    broken_ = true;
  } else {
    throw Error(Error::Kind::protocol, "it sent a ", name_of(message.body),
                ", which is for pservers");
  }
}

void ShardLink::closed(wire::Connection& from, const std::string& why) {
  if (&from != connection_.get()) return;
  if (!failure_) last_error_ = why;
  broken_ = true;
}

}  // namespace paddle
