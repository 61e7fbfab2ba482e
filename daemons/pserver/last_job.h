// The job that ended last on a shard. A trainer of it that comes late, a restart for example, must
// not begin the job anew, alone: it would wait for the others, which are done. But the same command
// for all trainers is a new start. So such a trainer waits a little for the others to come too.
// Pure logic: time is given, nothing is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/messages.h"

namespace paddle {

// As the snapshot directory keeps it.
struct EndedJob {
  std::string job, program;  // name and digest, as escaped() writes them
  uint32_t trainers = 0;
  double seconds_ago = 0;
  std::vector<uint64_t> processes = {};  // that took part; not kept on the disk
};
// `unix_seconds` is the time of the end.
std::string write_ended_job(const EndedJob& job, int64_t unix_seconds);
// `unix_seconds` is the time of now. Nothing where the text makes no sense.
std::optional<EndedJob> read_ended_job(const std::string& text, int64_t unix_seconds);

class LastJob {
 public:
  // Its trainers are kept out of a new job for `memory_seconds` after the end.
  explicit LastJob(double memory_seconds) : memory_seconds_(memory_seconds) {}

  void remember(EndedJob job, Time now);
  void forget() { *this = LastJob(memory_seconds_); }

  struct Answer {
    enum class Verdict {
      begins,   // a new job
      wait,     // come again
      refused,  // too late
      over,     // it took part in the job, which has ended
    } verdict = Verdict::begins;
    std::string why = {};
    bool first = false;  // wait: it was not told before
  };
  // Of a trainer that would begin a job.
  Answer ask(const wire::Hello& hello, Time now);

 private:
  // One that was told to wait. A trainer that was started without an id counts by its process.
  struct Applicant {
    uint64_t key = 0;
    bool by_id = false;
    Time since{}, asked{};
  };
  Applicant& applicant(const wire::Hello& hello, Time now);

  double memory_seconds_;
  std::optional<EndedJob> job_;
  Time ended_{};
  std::vector<Applicant> applicants_;
};

}  // namespace paddle
