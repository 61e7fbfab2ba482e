// A simulated trainer's connections.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/trainer_host.h"
#include "trainer/ps_links.h"

namespace paddle::sim {

class SimLinks final : public Links, public Heartbeats {
 public:
  SimLinks(TrainerHost& host, const std::vector<std::string>& endpoints, double peer_timeout);
  ~SimLinks() override;

  Time now() const override { return host_.now(); }
  void greet(size_t shard, const wire::Hello& hello) override;
  void hang_up(size_t shard) override;
  bool open(size_t shard) const override { return data_[shard].pipe != nullptr; }
  void send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) override;
  void send(uint32_t shard, const wire::Pull& pull) override;
  void send(uint32_t shard, uint64_t id, const wire::PullRows& pull, wire::Bytes ids) override;
  void request(size_t shard, uint64_t id, const wire::Body& body, wire::Bytes bulk) override;
  void flush() override {}
  void poll() override;
  void poll_sometimes() override { poll(); }

  void start(const wire::Hello& hello) override;
  void stop() override;
  void report(const wire::Progress& progress) override { progress_ = progress; }
  void send_final_error(const std::string& message) override;
  std::vector<ShardNews> news_of_each() const override { return news_; }

  std::string waits_for;  // the last wait, for traces

 protected:
  void sleep_until(Time until) override;
  Time heard(size_t shard) const override {
    return std::max(data_[shard].heard, news_[shard].heard);
  }
  bool stop_asked() const override { return false; }

 private:
  // One connection; the receiving end of its pipe.
  struct Line final : PipeEnd {
    SimLinks* owner = nullptr;
    size_t shard = 0;
    bool beats = false;
    std::shared_ptr<Pipe> pipe;
    Time heard{};
    uint64_t attempt = 0;
    uint64_t echo = 0;  // number of the last BeatAck
    int failed = 0;

    Taken take(Pipe& from, Packet& packet) override;
    void ended(Pipe& from, const std::string& why) override;
    Time takes_from() const override { return owner->host_.frozen_until_; }
  };
  struct Arrival {  // for the fiber to look at
    Line* line = nullptr;
    std::weak_ptr<Pipe> pipe;        // a later one may have the same address
    std::unique_ptr<Packet> packet;  // null: the connection ended
    std::string why;
  };

  void connect(Line& line, uint64_t attempt, const wire::Hello& hello);
  void drop(Line& line, const std::string& why);
  void apply(Arrival& arrival);
  void beat(Line& line, uint64_t attempt);
  // Calls back while this process lives, and not while it is frozen.
  void later(double wait, std::function<void()> what);

  TrainerHost& host_;
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
  std::deque<Line> data_, beats_;
  std::vector<ShardNews> news_;
  wire::Hello beat_hello_;
  wire::Progress progress_;
  std::deque<Arrival> arrivals_;
};

}  // namespace paddle::sim
