// Lets streams pass that prove who they are, within 10 s. Of strangers it keeps few and answers
// nothing that would tell of the job. Where there are no credentials, everybody passes.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "wire/credentials.h"
#include "wire/opening.h"

namespace paddle::wire {

struct GateLimits {
  size_t total = 256, per_address = 64;  // connections that have proven nothing yet
  double seconds = 10;
};

class Gate {
 public:
  using OnStream = std::function<void(std::unique_ptr<Stream>, const Proof&)>;

  // `label` stands before log lines: "port 7164: ".
  Gate(asio::io_context& io, Credentials credentials, GateLimits limits = {});
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void set_label(std::string label) { label_ = std::move(label); }
  // Hands the stream to `pass` once it has proven who it is. Of too many that have not, the oldest
  // has to go: the oldest of that address, where the address has too many.
  void take(std::unique_ptr<Stream> stream, OnStream pass);
  size_t waiting() const { return waiting_.size(); }
  uint64_t refused() const { return refused_; }

 private:
  struct Stranger {
    std::string address;
    std::shared_ptr<Opening> opening;  // shared with Asio's pending operations
  };
  using Place = std::list<Stranger>::iterator;

  void make_place(const std::string& address);
  void ended(Place place, Opening::Result result, const OnStream& pass);
  void close(Place place, const std::string& why);
  void count_refusal(const std::string& peer, const std::string& why);
  void watch();

  Credentials credentials_;
  const GateLimits limits_;
  std::string label_;
  std::list<Stranger> waiting_;  // the oldest first
  asio::steady_timer timer_;
  bool watching_ = false;
  uint64_t refused_ = 0, unreported_ = 0;
  Time last_report_{};
};

}  // namespace paddle::wire
