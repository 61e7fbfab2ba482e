// What a trainer knows of its connection to one shard: what came, what was asked and what broke. No
// I/O: whoever owns the connection (tcp_links.h, a simulation) reports to it, and the client looks
// at it between two turns.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/exchange.h"
#include "trainer/row_exchange.h"
#include "wire/messages.h"

namespace paddle {

class LinkState {
 public:
  LinkState(uint32_t index, std::string endpoint) : index_(index), endpoint_(std::move(endpoint)) {}

  uint32_t index() const { return index_; }
  const std::string& endpoint() const { return endpoint_; }
  // Whom the values of slices concern; outlives the connections.
  void deliver_to(ParamExchange& exchange, RowExchange& rows) {
    exchange_ = &exchange;
    rows_ = &rows;
  }

  // ---- events
  // The connection is dropped, and nothing that belonged to it counts any more.
  void dropped();
  // An attempt to connect failed, or led to somebody who does not greet back.
  void unreachable(const std::string& why) { last_error_ = why; }
  // Where the bulk of a message goes. Throws Error(protocol) for what nobody asked for. The list
  // stays until the next message.
  std::span<const std::span<std::byte>> land(const wire::Message& message, uint64_t bulk);
  void handle(wire::Message& message);  // may be moved from
  void closed(const std::string& why);

  // ---- what there is to know
  // The Welcome of the present connection, the first time that it is asked for.
  std::optional<wire::Welcome> take_welcome() { return std::exchange(welcome_, std::nullopt); }
  // The connection was lost, or the shard sent a Failure.
  bool broken() const { return broken_; }
  const std::optional<wire::Failure>& failure() const { return failure_; }
  const std::string& last_error() const { return last_error_; }  // why it is not there

  // A number for a request that Ack answers, and whether it has. Requests are answered in order.
  uint64_t expect_ack(std::span<std::byte> landing = {});
  // The same for one whose bulk may have any length up to `most`: `to` becomes as long. It lives as
  // long as bulk may land there, whatever becomes of the caller.
  uint64_t expect_rows(std::shared_ptr<std::vector<std::byte>> to, size_t most);
  bool acked(uint64_t id) const { return id <= last_ack_; }
  // The pserver's process, by the last Welcome.
  uint64_t instance() const { return instance_; }
  // The lowest version that an Ack has reported since expect_versions().
  void expect_versions() { lowest_version_ = ~uint64_t{0}; }
  uint64_t lowest_version() const { return lowest_version_; }
  const wire::Ack& last_answer() const { return last_answer_; }

 private:
  const uint32_t index_;
  const std::string endpoint_;
  bool is_rows(const wire::Values& values) const {
    return !values.parts.empty() && rows_->owns(values.parts[0].slice);
  }

  ParamExchange* exchange_ = nullptr;
  RowExchange* rows_ = nullptr;
  std::optional<wire::Welcome> welcome_;
  std::optional<wire::Failure> failure_;
  bool broken_ = false;
  std::string last_error_ = "not greeted yet";
  uint64_t next_id_ = 0, last_ack_ = 0, lowest_version_ = 0, instance_ = 0;
  struct Landing {
    std::span<std::byte> at;                                  // or
    std::shared_ptr<std::vector<std::byte>> grows = nullptr;  // up to `most`
    size_t most = 0;
  };
  std::map<uint64_t, Landing> landings_;  // of requests
  wire::Ack last_answer_;
  std::span<std::byte> landing_;
};

}  // namespace paddle
