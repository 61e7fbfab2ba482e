// A job file: read, checked against schemas/job.fbs, and ready to be built. Every mistake in it is
// listed at once, each with file:line, what was expected, what was found, and the nearest right
// word.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "options/options.h"
#include "trainer/json_tree.h"

namespace paddle {

namespace job {
struct JobT;  // generated from schemas/job.fbs
}

// Collects mistakes, so that a user sees all of them in one go.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(int line, const std::string& sentence);
  bool any() const { return !list_.empty(); }
  size_t count() const { return list_.size(); }
  // Throws Error(config) with one mistake per line, in the order of the file; does nothing where
  // there is none.
  void report() const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<std::pair<int, std::string>> list_;
};

struct JobFile {
  std::string path;
  std::string source;  // as it stands on disk; saved beside the model
  JsonValue tree;      // placeholders filled in
  std::unique_ptr<job::JobT>
      job;  // the same by the schema, single values in lists where it has lists
  // Names of inputs and layers that are left out for mistakes told already; empty in a job that can
  // be built.
  std::set<std::string> left_out;

  explicit JobFile(std::string file);
  JobFile(JobFile&&) noexcept;
  ~JobFile();
};

// Reads and checks a job file. Options that it gives are set (flags and environment win).
// `config_args` is "name=value,name=value" for the file's placeholders.
JobFile read_job(const std::string& path, const std::string& config_args, Options& options);

// The same for a text at hand.
JobFile parse_job(const std::string& path, std::string source, const std::string& config_args,
                  Options& options);

}  // namespace paddle
