#include "trainer/tcp_links.h"

#include <algorithm>

#include "base/error.h"
#include "obs/exchange_times.h"

namespace paddle {
namespace {

constexpr auto poll_period = std::chrono::microseconds(100);
constexpr double connect_seconds = 5;
constexpr auto first_pause = std::chrono::milliseconds(20),
               last_pause = std::chrono::milliseconds(1000);

std::vector<std::string> texts(const std::vector<wire::Endpoint>& endpoints) {
  std::vector<std::string> out;
  for (const wire::Endpoint& e : endpoints) out.push_back(e.text());
  return out;
}

}  // namespace

// One connection: it connects again and again until the shard greets back.
class TcpLinks::Link : public wire::Handler {
 public:
  Link(TcpLinks& links, wire::Endpoint to, LinkState& state)
      : links_(links),
        io_(links.io_),
        to_(std::move(to)),
        credentials_(links.credentials_),
        state_(state) {}

  void greet(const wire::Hello& hello) {
    hang_up();
    asio::co_spawn(io_, make(++attempt_, hello), asio::detached);
  }
  void hang_up() {
    ++attempt_;
    state_.dropped();
    if (!connection_) return;
    const auto old = std::move(connection_);
    old->close("the trainer connects again");
  }
  bool open() const { return connection_ && connection_->open(); }
  wire::Connection& connection() { return *connection_; }

  wire::Landing land(wire::Connection&, const wire::Message& message, uint64_t bulk) override {
    return wire::Landing::into_pieces(state_.land(message, bulk));
  }
  void handle(wire::Connection& from, wire::Message& message, uint64_t) override {
    if (&from != connection_.get()) return;
    if (std::holds_alternative<wire::Welcome>(message.body)) {
      failed_attempts_ = 0;
      shared_ = false;
    }
    if (const auto* values = std::get_if<wire::Values>(&message.body))
      links_.answered(message.id, *values);
    state_.handle(message);
  }
  void arrived(wire::Connection& from) override { from.flush(); }  // what answers made us send
  void closed(wire::Connection& from, const std::string& why) override {
    if (&from == connection_.get()) state_.closed(why);
  }

 private:
  // Until one attempt leads to a connection; what greets back is seen by handle(). Where another
  // program listens, connections are made and lead to nothing: these wait longer each time, too.
  asio::awaitable<void> make(uint64_t attempt, wire::Hello hello) {
    asio::steady_timer timer(io_);
    while (attempt == attempt_) {
      if (failed_attempts_ > 0) {
        timer.expires_after(
            std::min(first_pause * (1 << std::min(failed_attempts_ - 1, 10)), last_pause));
        co_await timer.async_wait(asio::use_awaitable);
        if (attempt != attempt_) co_return;
      }
      try {
        const wire::Purpose purpose = wire::purpose_of(hello);
        // A connection over shared memory that is not greeted back is followed by one over TCP.
        shared_ = links_.shared_memory_ && !shared_;
        std::unique_ptr<wire::Stream> stream =
            co_await wire::connect(to_, connect_seconds, credentials_, purpose, shared_);
        if (attempt != attempt_) co_return;
        connection_ = wire::Connection::start(std::move(stream), *this, false);
        if (failed_attempts_++ == 0) state_.unreachable("it does not greet back");
        send_hello(*connection_, hello, state_.index());
        co_return;
      } catch (const Error& e) {
        if (attempt != attempt_) co_return;
        shared_ = false;
        if (e.kind() == Error::Kind::config) co_return refused(e.what());
        state_.unreachable(e.what());
        ++failed_attempts_;
      }
    }
  }

  // Token or certificates do not fit: as where the shard itself refuses.
  void refused(const std::string& why) {
    wire::Message message{.body = wire::Failure{wire::FailureCode::refused, why}};
    state_.handle(message);
  }

  TcpLinks& links_;
  asio::io_context& io_;
  const wire::Endpoint to_;
  const wire::Credentials& credentials_;
  LinkState& state_;
  std::shared_ptr<wire::Connection> connection_;
  uint64_t attempt_ = 0;     // a new one ends those before
  bool shared_ = false;      // the last connection might share memory, and was not greeted back yet
  int failed_attempts_ = 0;  // since a shard last greeted back
};

TcpLinks::TcpLinks(const std::vector<wire::Endpoint>& shards, wire::Credentials credentials,
                   double peer_timeout, int64_t spin_microseconds, bool shared_memory)
    : Links(texts(shards), peer_timeout, heartbeat_),
      work_(io_.get_executor()),
      spin_(spin_microseconds),
      credentials_(std::move(credentials)),
      shared_memory_(shared_memory),
      heartbeat_(shards, credentials_) {
  for (size_t i = 0; i < shards.size(); ++i)
    links_.push_back(std::make_unique<Link>(*this, shards[i], (*this)[i]));
}

TcpLinks::~TcpLinks() {
  for (const auto& link : links_) link->hang_up();
}

void TcpLinks::greet(size_t shard, const wire::Hello& hello) { links_[shard]->greet(hello); }

void TcpLinks::hang_up(size_t shard) { links_[shard]->hang_up(); }

bool TcpLinks::open(size_t shard) const { return links_[shard]->open(); }

void TcpLinks::send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) {
  if (!links_[shard]->open()) return;
  sent(push.parts, true);
  links_[shard]->connection().send(0, push, bulk);
}

void TcpLinks::send(uint32_t shard, const wire::Pull& pull) {
  if (!links_[shard]->open()) return;
  sent(pull.parts, false);
  links_[shard]->connection().send(0, pull);
}

void TcpLinks::send(uint32_t shard, uint64_t id, const wire::PullRows& pull, wire::Bytes ids) {
  if (!links_[shard]->open()) return;
  SentTime& asked = sent_at(pull.slice);
  asked.rows.at(id - 1) = Clock::now();
  asked.table = true;
  links_[shard]->connection().send(id, pull, ids);
}

template <class Part>
void TcpLinks::sent(std::span<const Part> parts, bool push) {
  const Time now = Clock::now();
  for (const Part& part : parts) {
    SentTime& asked = sent_at(part.slice);
    asked.time = now;
    asked.push = push;
  }
}

TcpLinks::SentTime& TcpLinks::sent_at(uint32_t slice) {
  if (slice >= sent_.size()) sent_.resize(slice + 1);
  return sent_[slice];
}

// A message counts once, however many slices it answers. Of a table, only pulls of rows have
// numbers.
void TcpLinks::answered(uint64_t id, const wire::Values& values) {
  if (values.parts.empty() || values.parts[0].slice >= sent_.size()) return;
  SentTime& asked = sent_[values.parts[0].slice];
  ExchangeTimes& times = exchange_times();
  if (asked.table) {
    const bool rows = id > 0 && id <= asked.rows.size();
    Time& sent = rows ? asked.rows[id - 1] : asked.time;
    if (sent == Time{}) return;
    const auto time = std::chrono::nanoseconds(Clock::now() - std::exchange(sent, Time{}));
    (rows ? times.pull_rows : times.push_rows).observe(static_cast<uint64_t>(time.count()));
    return;
  }
  if (asked.time == Time{}) return;
  const auto time = std::chrono::nanoseconds(Clock::now() - std::exchange(asked.time, Time{}));
  (asked.push ? times.push : times.pull).observe(static_cast<uint64_t>(time.count()));
}

void TcpLinks::request(size_t shard, uint64_t id, const wire::Body& body, wire::Bytes bulk) {
  if (links_[shard]->open()) links_[shard]->connection().send(id, body, bulk);
}

void TcpLinks::flush() {
  for (const auto& link : links_)
    if (link->open()) link->connection().flush();
}

void TcpLinks::poll_sometimes() {
  const Time now = Clock::now();
  if (now - last_poll_ < poll_period) return;
  last_poll_ = now;
  flush();
  io_.poll();
}

void TcpLinks::sleep_until(Time until) {
  io_.run_one_until(until);
  io_.poll();
  check_interrupt();
}

Time TcpLinks::heard(size_t shard) const {
  const Time beat = heartbeat_.heard(shard);
  return open(shard) ? std::max(beat, links_[shard]->connection().last_heard()) : beat;
}

}  // namespace paddle
