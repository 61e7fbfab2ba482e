// Where the processes of a launched job answer HTTP requests, as a file that Prometheus reads
// (file_sd_configs): job/targets.json in the workspace, while the job runs.
#pragma once

#include <string>
#include <vector>

namespace paddle {

class Targets {
 public:
  // Nothing is written before the first process is added.
  explicit Targets(std::string path) : path_(std::move(path)) {}
  ~Targets();
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

  // `address` as in the event: "http://127.0.0.1:4711".
  void add(const std::string& process, bool worker, const std::string& address);
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  std::vector<std::string> entries_;
};

}  // namespace paddle
