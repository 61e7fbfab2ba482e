// A trainer's connection to one shard: it connects again and again until the shard greets back, and
// pairs control requests with their answers. It lives on the client's thread. What comes is noted
// here and looked at by the client between two turns of the io_context.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "trainer/exchange.h"
#include "wire/connection.h"

namespace paddle {

class ShardLink : public wire::Handler {
 public:
  ShardLink(asio::io_context& io, wire::Endpoint to, uint32_t index)
      : io_(io), to_(std::move(to)), index_(index) {}

  // Whom the values of slices concern; outlives the connections.
  void deliver_to(ParamExchange& exchange) { exchange_ = &exchange; }

  // Drops the connection, if there is one, and starts to make a new one.
  void greet(const wire::Hello& hello);
  // Drops the connection for good.
  void hang_up();

  // The Welcome of the present connection, the first time that it is asked for.
  std::optional<wire::Welcome> take_welcome() { return std::exchange(welcome_, std::nullopt); }
  // The connection was lost, or the shard sent a Failure.
  bool broken() const { return broken_; }
  const std::optional<wire::Failure>& failure() const { return failure_; }
  const std::string& last_error() const { return last_error_; }  // why it is not there
  const wire::Endpoint& endpoint() const { return to_; }

  wire::Connection& connection() { return *connection_; }
  bool open() const { return connection_ && connection_->open(); }
  // A number for a request that Ack answers, and whether it has. Requests are answered in order.
  uint64_t expect_ack(std::span<std::byte> landing = {});
  bool acked(uint64_t id) const { return id <= last_ack_; }
  // The lowest version that an Ack has told since expect_versions().
  void expect_versions() { lowest_version_ = ~uint64_t{0}; }
  uint64_t lowest_version() const { return lowest_version_; }

  wire::Landing land(wire::Connection&, const wire::Message& message, uint64_t bulk) override;
  void handle(wire::Connection&, wire::Message& message, uint64_t bulk) override;
  void arrived(wire::Connection& from) override { from.flush(); }  // what answers made us send
  void closed(wire::Connection&, const std::string& why) override;

 private:
  asio::awaitable<void> make(uint64_t attempt, wire::Hello hello);

  asio::io_context& io_;
  ParamExchange* exchange_ = nullptr;
  const wire::Endpoint to_;
  const uint32_t index_;
  std::shared_ptr<wire::Connection> connection_;
  std::optional<wire::Welcome> welcome_;
  std::optional<wire::Failure> failure_;
  bool broken_ = false;
  std::string last_error_ = "not greeted yet";
  uint64_t attempt_ = 0;     // a new one ends those before
  int failed_attempts_ = 0;  // since a shard last greeted back
  uint64_t next_id_ = 0, last_ack_ = 0, lowest_version_ = 0;
  std::map<uint64_t, std::span<std::byte>> landings_;
};

}  // namespace paddle
