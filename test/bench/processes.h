// Processes that a measurement starts, ends and looks at.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace paddle::bench {

// Keeps the calling process on one CPU, where there is more than one.
void pin(int cpu);
// CPU seconds of a process so far, of all its threads.
double cpu_seconds(pid_t process);

// A copy of this process that runs `body` and sends back the numbers that it returns. Ended with
// the object.
class Child {
 public:
  explicit Child(const std::function<std::vector<double>()>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for the end; throws Error(peer) where the child failed.
  std::vector<double> result();
  pid_t id() const { return id_; }

 private:
  pid_t id_ = -1;
  int from_child_ = -1;
};

struct PserverOptions {
  int trainers = 1;
  int spin_microseconds = 0;  // -1: the program chooses
  int cpu = -1;               // to be pinned to
  std::vector<std::string> flags = {};
};

// The real paddle_pserver of this build, with one dense shard on a port of the kernel's choice.
class Pserver {
 public:
  explicit Pserver(const PserverOptions& options);
  ~Pserver();
  Pserver(const Pserver&) = delete;
  Pserver& operator=(const Pserver&) = delete;

  const std::string& endpoint() const { return endpoint_; }  // "127.0.0.1:40312"
  double cpu() const { return cpu_seconds(id_); }

 private:
  pid_t id_ = -1;
  std::string directory_, endpoint_;
};

}  // namespace paddle::bench
