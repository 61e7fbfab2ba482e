// What sockets alone can do: a server that answers fixed requests with fixed answers, and a client
// that keeps some of them in flight. Same socket options as the connections of libcore/wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/processes.h"
#include "tensor/tensor.h"

namespace paddle::bench {

struct RawOptions {
  size_t request = 64, answer = 64;  // bytes
  size_t window = 1;                 // in flight; each has memory of its own at both ends
  bool spins = false;                // both ends look again and again instead of sleeping
  int server_cpu = -1;
};

class Raw {
 public:
  explicit Raw(const RawOptions& options);
  ~Raw();

  // Answers per second over so many seconds.
  double rate(double secs);
  // Seconds of each of `count` requests, one after the other.
  std::vector<double> latencies(size_t count);
  double server_cpu() const { return cpu_seconds(server_->id()); }

 private:
  void advance(size_t window);  // until something was sent or came in
  void advance_plain();
  void read_answer();

  RawOptions options_;
  std::unique_ptr<Child> server_;
  int socket_ = -1;
  std::vector<Tensor> out_, in_;
  uint64_t begun_ = 0, sent_ = 0, answered_ = 0;  // requests
  size_t out_at_ = 0, in_at_ = 0;                 // bytes of the one at hand
};

// TCP_NODELAY and, on loopback, reno, as every stream of ours.
void tune_raw(int socket);
// "reno": what a socket of the protocol runs with on loopback here.
std::string congestion_control();

}  // namespace paddle::bench
