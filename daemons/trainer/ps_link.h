// A trainer's connection to one shard: it connects again and again until the shard greets back, and
// pairs control requests with their answers. It lives on the client's thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "trainer/heartbeat.h"
#include "trainer/ps_join.h"
#include "wire/connection.h"

namespace paddle {

// What bulk data of a shard is for; the client knows the memory.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  // Where the values of a slice shall land; throws Error(protocol) where they do not fit.
  virtual std::span<std::byte> values_land(uint32_t slice, uint64_t bytes) = 0;
  virtual void values_came(uint32_t slice, uint64_t version, bool dropped) = 0;
};

// A Failure that a shard sent.
struct ShardFailure {
  wire::FailureCode code;
  std::string message;
};

class ShardLink : public wire::Handler {
 public:
  ShardLink(asio::io_context& io, LinkOwner& owner, wire::Endpoint to, uint32_t index)
      : io_(io), owner_(owner), to_(std::move(to)), index_(index) {}

  // Drops the connection, if there is one, and starts to make a new one.
  void greet(const wire::Hello& hello);
  // Drops the connection for good.
  void hang_up();

  // The Welcome, once it came on the present connection.
  const Greeting* greeting() const { return greeting_ ? &*greeting_ : nullptr; }
  // The connection was lost, or the shard sent a Failure that no request waits for.
  bool broken() const { return broken_; }
  const std::string& trouble() const { return trouble_; }  // why it is not there
  // What the shard refused, if it did.
  std::optional<ShardFailure>& failure() { return failure_; }
  const wire::Endpoint& endpoint() const { return to_; }

  wire::Connection& connection() { return *connection_; }
  bool open() const { return connection_ && connection_->open(); }
  // A number for a request that Ack answers, and whether it has.
  uint64_t expect_ack(std::span<std::byte> landing = {});
  bool acked(uint64_t id) const { return id <= last_ack_; }
  // What the last Ack said of the shard's slices.
  uint64_t acked_version() const { return acked_version_; }

  wire::Landing land(wire::Connection&, const wire::Message& message, uint64_t bulk) override;
  void handle(wire::Connection&, wire::Message& message, uint64_t bulk) override;
  void arrived(wire::Connection& from) override { from.flush(); }  // what answers made us send
  void closed(wire::Connection&, const std::string& why) override;

 private:
  asio::awaitable<void> make(uint64_t attempt, wire::Hello hello);

  asio::io_context& io_;
  LinkOwner& owner_;
  wire::Endpoint to_;
  uint32_t index_;
  std::shared_ptr<wire::Connection> connection_;
  std::optional<Greeting> greeting_;
  std::optional<ShardFailure> failure_;
  bool broken_ = false;
  std::string trouble_ = "not greeted yet";
  uint64_t attempt_ = 0;  // a new one ends those before
  int in_vain_ = 0;       // attempts since a shard last greeted back
  uint64_t next_id_ = 0, last_ack_ = 0, acked_version_ = 0;
  std::map<uint64_t, std::span<std::byte>> landings_;
};

}  // namespace paddle
