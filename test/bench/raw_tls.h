// What OpenSSL and sockets can do by themselves: one connection of TLS 1.3 whose one end encrypts
// and sends, and whose other end reads and decrypts, each in a process on a CPU of its own. Many
// records leave and arrive with one system call, which is the best that was found.
#pragma once

#include <memory>
#include <string>

#include "bench/processes.h"

namespace paddle::bench {

class RawTls {
 public:
  // Certificates of `directory`: pserver.pem, trainer.pem, their keys and ca.pem.
  explicit RawTls(const std::string& directory, int server_cpu);
  ~RawTls();

  // Bytes per second over so many seconds.
  double rate(double secs);

 private:
  class End;
  std::unique_ptr<Child> server_;
  std::unique_ptr<End> end_;
};

}  // namespace paddle::bench
