#include "trainer/link_state.h"

#include <algorithm>

#include "base/error.h"

namespace paddle {

void LinkState::dropped() {
  broken_ = false;
  welcome_.reset();
  failure_.reset();
  landings_.clear();
  last_ack_ = next_id_;
}

uint64_t LinkState::expect_ack(std::span<std::byte> landing) {
  ++next_id_;
  if (!landing.empty()) landings_[next_id_] = {.at = landing};
  return next_id_;
}

uint64_t LinkState::expect_rows(std::shared_ptr<std::vector<std::byte>> to, size_t most) {
  landings_[++next_id_] = {.at = {}, .grows = std::move(to), .most = most};
  return next_id_;
}

std::span<const std::span<std::byte>> LinkState::land(const wire::Message& message, uint64_t bulk) {
  if (const auto* values = std::get_if<wire::Values>(&message.body))
    return is_rows(*values) ? rows_->landing(index_, message.id, *values, bulk)
                            : exchange_->landing(index_, *values, bulk);
  const auto found = landings_.find(message.id);
  const bool asked = std::holds_alternative<wire::Ack>(message.body) && found != landings_.end();
  require(asked && (found->second.grows != nullptr ? bulk <= found->second.most
                                                   : bulk == found->second.at.size()),
          Error::Kind::protocol, "it sent ", bulk, " bytes that nobody asked for");
  if (found->second.grows != nullptr) {
    found->second.grows->resize(static_cast<size_t>(bulk));
    found->second.at = *found->second.grows;
  }
  landing_ = found->second.at;
  return {&landing_, 1};
}

void LinkState::handle(wire::Message& message) {
  if (const auto* values = std::get_if<wire::Values>(&message.body)) {
    is_rows(*values) ? rows_->arrived(index_, message.id, *values)
                     : exchange_->arrived(index_, *values);
  } else if (const auto* ack = std::get_if<wire::Ack>(&message.body)) {
    landings_.erase(message.id);
    last_ack_ = std::max(last_ack_, message.id);
    lowest_version_ = std::min(lowest_version_, ack->version);
    last_answer_ = *ack;
  } else if (auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    instance_ = welcome->instance;
    welcome_ = std::move(*welcome);
  } else if (auto* failure = std::get_if<wire::Failure>(&message.body)) {
    failure_ = std::move(*failure);
    last_error_ = failure_->message;
    broken_ = true;
  } else {
    throw Error(Error::Kind::protocol, "it sent a ", name_of(message.body),
                ", which is for pservers");
  }
}

void LinkState::closed(const std::string& why) {
  if (!failure_) last_error_ = why;
  broken_ = true;
}

}  // namespace paddle
