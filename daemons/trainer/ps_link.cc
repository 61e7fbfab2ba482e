#include "trainer/ps_link.h"

#include <algorithm>

#include "base/error.h"

namespace paddle {
namespace {

constexpr double connect_seconds = 5;
constexpr auto first_pause = std::chrono::milliseconds(20),
               last_pause = std::chrono::milliseconds(1000);

void check_parts(const wire::Values& values) {
  require(values.parts.size() == 1, Error::Kind::protocol, "it sent values of ",
          values.parts.size(), " slices in one message");
}

}  // namespace

void ShardLink::greet(const wire::Hello& hello) {
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
asio::awaitable<void> ShardLink::make(uint64_t attempt, wire::Hello hello) {
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
      send_hello(*connection_, hello, index_);
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

wire::Landing ShardLink::land(wire::Connection&, const wire::Message& message, uint64_t bulk) {
  if (const auto* values = std::get_if<wire::Values>(&message.body)) {
    check_parts(*values);
    return wire::Landing::into(owner_.values_land(values->parts[0].slice, bulk));
  }
  const auto found = landings_.find(message.id);
  require(std::holds_alternative<wire::Ack>(message.body) && found != landings_.end() &&
              found->second.size() == bulk,
          Error::Kind::protocol, "it sent ", bulk, " bytes that nobody asked for");
  return wire::Landing::into(found->second);
}

void ShardLink::handle(wire::Connection& from, wire::Message& message, uint64_t) {
  if (&from != connection_.get()) return;
  if (const auto* values = std::get_if<wire::Values>(&message.body)) {
    check_parts(*values);
    const wire::ValuesPart& v = values->parts[0];
    owner_.values_came(v.slice, v.version, v.dropped != 0);
  } else if (const auto* ack = std::get_if<wire::Ack>(&message.body)) {
    landings_.erase(message.id);
    last_ack_ = std::max(last_ack_, message.id);
    acked_version_ = ack->version;
  } else if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    greeting_ = read_greeting(*welcome, to_.text());
    in_vain_ = 0;
  } else if (const auto* failure = std::get_if<wire::Failure>(&message.body)) {
    failure_ = {failure->code, failure->message};
    trouble_ = failure_->message;
    broken_ = true;
  } else {
    throw Error(Error::Kind::protocol, "it sent a ", name_of(message.body),
                ", which is for pservers");
  }
}

void ShardLink::closed(wire::Connection& from, const std::string& why) {
  if (&from != connection_.get()) return;
  if (!failure_) trouble_ = why;
  broken_ = true;
}

}  // namespace paddle
