#include "trainer/heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "obs/exchange_times.h"

namespace paddle {
namespace {

constexpr auto period = std::chrono::seconds(1);
constexpr auto final_timeout = std::chrono::seconds(1);
constexpr uint64_t final_beat = 1;  // id of the beat that carries the final error
constexpr double beat_connect_seconds = 5;

void add_row_cache(wire::Progress& p) {
  const RowCacheCounts& counts = exchange_times().row_cache;
  p.cache_hits = counts.hits;
  p.cache_misses = counts.misses;
  p.cache_rows = static_cast<uint64_t>(counts.rows);
  p.cache_bytes = static_cast<uint64_t>(counts.bytes);
}

}  // namespace

void send_hello(wire::Connection& to, wire::Hello hello, uint32_t shard) {
  hello.shard = shard;
  hello.outline.resize(
      hello.role == wire::Role::trainer ? std::min(hello.outline.size(), wire::max_outline) : 0);
  to.send(0, hello);
  to.flush();
}

struct Heartbeat::State {
  // One shard's connection; it connects again and again.
  class Line : public wire::Handler {
   public:
    Line(State& state, wire::Endpoint to, uint32_t index)
        : state_(state), to_(std::move(to)), index_(index) {}

    asio::awaitable<void> run() {
      asio::steady_timer timer(state_.io);
      for (;;) {
        try {
          const wire::Purpose purpose = wire::purpose_of(state_.hello);
          std::unique_ptr<wire::Stream> stream =
              co_await wire::connect(to_, beat_connect_seconds, state_.credentials, purpose);
          connection_ = wire::Connection::start(std::move(stream), *this, false);
          echo_ = 0;
          send_hello(*connection_, state_.hello, index_);
        } catch (const Error&) {  // the data connection reports it to the user
          const std::scoped_lock lock(state_.mutex);
          clear_unacked();
        }
        while (connection_ && connection_->open()) {
          send_beat();
          timer.expires_after(period);
          co_await timer.async_wait(asio::use_awaitable);
        }
        timer.expires_after(period);
        co_await timer.async_wait(asio::use_awaitable);
      }
    }

    wire::Landing land(wire::Connection&, const wire::Message&, uint64_t) override {
      return wire::Landing::discard();
    }
    void handle(wire::Connection&, wire::Message& message, uint64_t) override {
      const std::scoped_lock lock(state_.mutex);
      ShardNews& news = state_.news[index_];
      news.heard = Clock::now();
      if (auto* ack = std::get_if<wire::BeatAck>(&message.body)) {
        echo_ = ack->number;
        news = news_of(std::move(*ack), news.heard);
        if (message.id == final_beat) clear_unacked();
      } else if (const auto* failure = std::get_if<wire::Failure>(&message.body)) {
        if (failure->code == wire::FailureCode::job_failed) news.failure = failure->message;
      }
    }
    void closed(wire::Connection&, const std::string& why) override {
      log_detail(1, text("heartbeat to ", to_.text(), " ended: ", why));
      const std::scoped_lock lock(state_.mutex);
      state_.news[index_].waiting.clear();
      clear_unacked();
    }

    // Under the mutex: send_final_error() waits until the shard has acknowledged it.
    void expect_ack() {
      if (!unacked_) ++state_.unacked;
      unacked_ = true;
    }

    void send_beat() {
      if (!connection_ || !connection_->open()) return;
      wire::Progress p;
      {
        const std::scoped_lock lock(state_.mutex);
        p = state_.progress;
      }
      p.echo = echo_;
      add_row_cache(p);
      connection_->send(p.error.empty() ? 0 : final_beat, p);
      connection_->flush();
    }

   private:
    // Under the mutex: nobody has to wait for this line any more.
    void clear_unacked() {
      if (!unacked_) return;
      unacked_ = false;
      --state_.unacked;
      state_.acked.notify_all();
    }

    State& state_;
    wire::Endpoint to_;
    uint32_t index_;
    bool unacked_ = false;  // the final error
    uint64_t echo_ = 0;     // number of the last answer on this connection
    std::shared_ptr<wire::Connection> connection_;
  };

  explicit State(const wire::Credentials& c) : credentials(c) {}

  const wire::Credentials& credentials;
  wire::Hello hello;
  mutable std::mutex mutex;  // guards progress, news and unacked
  std::condition_variable acked;
  size_t unacked = 0;  // lines whose shard has not acknowledged the final error yet
  wire::Progress progress{.state = "starting"};
  std::vector<ShardNews> news;
  asio::io_context io{1};
  std::vector<std::unique_ptr<Line>> lines;
  std::thread thread;
};

Heartbeat::Heartbeat(const std::vector<wire::Endpoint>& shards,
                     const wire::Credentials& credentials)
    : shards_(shards), credentials_(credentials) {}

Heartbeat::~Heartbeat() { stop(); }

void Heartbeat::start(const wire::Hello& hello) {
  stop();
  state_ = std::make_unique<State>(credentials_);
  state_->hello = hello;
  state_->hello.role = wire::Role::beat;
  state_->news.assign(shards_.size(), {.waiting = {}, .failure = {}, .heard = Clock::now()});
  for (size_t i = 0; i < shards_.size(); ++i) {
    state_->lines.push_back(
        std::make_unique<State::Line>(*state_, shards_[i], static_cast<uint32_t>(i)));
    asio::co_spawn(state_->io, state_->lines[i]->run(), asio::detached);
  }
  state_->thread = std::thread([io = &state_->io] { io->run(); });
}

void Heartbeat::stop() {
  if (!state_) return;
  state_->io.stop();
  state_->thread.join();
  state_.reset();
}

void Heartbeat::report(const wire::Progress& progress) {
  if (!state_) return;
  const std::scoped_lock lock(state_->mutex);
  state_->progress = progress;
}

// A line that is still connecting sends it with its first beat.
void Heartbeat::send_final_error(const std::string& message) {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  state_->progress.error = message;
  for (const auto& line : state_->lines) line->expect_ack();
  asio::post(state_->io, [s = state_.get()] {
    for (const auto& line : s->lines) line->send_beat();
  });
  state_->acked.wait_for(lock, final_timeout, [&] { return state_->unacked == 0; });
}

Time Heartbeat::heard(size_t shard) const {
  if (!state_) return {};
  const std::scoped_lock lock(state_->mutex);
  return state_->news[shard].heard;
}

std::vector<ShardNews> Heartbeat::news_of_each() const {
  if (!state_) return std::vector<ShardNews>(shards_.size());
  const std::scoped_lock lock(state_->mutex);
  return state_->news;
}

}  // namespace paddle
