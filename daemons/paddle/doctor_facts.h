// What `paddle doctor` looks at, as plain values: doctor_gather.h finds them out, doctor_checks.h
// judges them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paddle {

struct PeerFacts {  // one shard of a pserver
  std::string endpoint;
  std::string name_problem;     // why its name has no address; "" where it has
  std::string connect_problem;  // why nothing accepted a connection; "" where something did
  double connect_seconds = -1;
  bool own_machine = false;  // the address is one of this machine
  std::string holder;        // there: the process that listens on the port, "" for not known
  std::string problem;       // why there was no answer to a question; "" where there was
  bool silent = false;       // it accepted the connection and said nothing within the time
  double answer_seconds = -1;
  std::string build, state, job;
  double clock_ahead = 0;   // seconds that its clock is ahead of ours
  double clock_error = -1;  // of that, in both directions; -1: not known
};

struct PortFacts {
  int64_t port = 0;
  bool free = true;
  std::string why;     // the system's words where it is not
  std::string holder;  // "paddle (process 123)"; "" where that is not known
};

inline constexpr uint64_t unlimited = ~uint64_t{0};

struct LimitFacts {
  uint64_t open_files = unlimited;  // the hard limit: daemons raise theirs to it
  uint64_t locked_memory = unlimited, address_space = unlimited;
  int64_t trainers = 1;  // of the job
};

struct MemoryFacts {
  uint64_t machine = 0, usable = 0, available = 0;  // bytes; usable: by the control group too
};

struct DirectoryFacts {
  std::string purpose;  // "workspace"
  std::string path;     // as given
  std::string problem;  // why files cannot be written there
  bool late = false;    // the file system did not answer in time
  uint64_t free_bytes = 0, bytes = 0, free_files = 0, files = 0;
};

struct ProcessorFacts {
  std::string instructions;  // "avx512"
  bool vectors = true;       // faster than the plain kernels
  int64_t usable = 1, threads = 1;
};

struct BlasFacts {
  std::string chosen, problem;  // gemm_kernel(), or why that failed
  std::string openblas, openblas_problem, onednn, onednn_problem;
};

struct NetworkFacts {  // of the kernel; "" and 0: not known
  std::string congestion, allowed;
  uint64_t receive_most = 0, send_most = 0;  // bytes of a socket's buffers
};

struct HugePageFacts {
  std::string mode;  // always, madvise or never; "" for not known
};

struct CredentialFacts {
  std::string token_file, token_problem, token_grant;
  struct Certificate {
    std::string path, problem, role;
    double from = 0, until = 0;  // seconds since 1970
  };
  std::vector<Certificate> certificates;
  std::string tls_problem;  // the files do not fit each other
  double now = 0;           // seconds since 1970
};

}  // namespace paddle
