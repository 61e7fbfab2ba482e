// The jobs of this user on this machine, found by their processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options/environment.h"

namespace paddle {

// A process as /proc shows it.
struct SeenProcess {
  int64_t id = 0;
  std::vector<std::string> words;  // of its command line
  Environment environment;
  std::string directory;  // where it works
};

struct LocalJob {
  std::string workspace;  // absolute
  std::string pservers;   // as --pservers takes them
  // token_file, cert_file, key_file, ca_file and the ports: what a question to the job needs.
  std::map<std::string, std::string> options;
  std::vector<int64_t> trainers, servers;  // processes
};

// Trainers say which pservers they have. A pserver that no trainer names is a job of its own, where
// its command line says its port. In order of workspaces. Pure.
std::vector<LocalJob> jobs_of(const std::vector<SeenProcess>& processes);

// The processes of this user that run our programs, or a Python trainer of ours.
std::vector<SeenProcess> own_processes();

// Those of `workspace`, or all where it is "".
std::vector<LocalJob> local_jobs(const std::string& workspace);

// A job that trains in one process and has no pservers to ask.
struct LocalRun {
  std::string workspace;  // absolute
  int64_t process = 0;
};
// Pure.
std::vector<LocalRun> runs_of(const std::vector<SeenProcess>& processes);
std::vector<LocalRun> local_runs(const std::string& workspace);
// What such a process has logged last: "Pass=3 Batch=40 …"; "" where that cannot be read.
std::string last_logged(int64_t process);

// "ws: pservers 127.0.0.1:7164, trainers 812 and 813"
std::string describe(const LocalJob& job);

}  // namespace paddle
