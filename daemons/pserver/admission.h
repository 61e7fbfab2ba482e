// Which process may be which trainer of a job. Pure logic: time is given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pserver/members.h"

namespace paddle {

// A process that wants to be a trainer.
struct Applicant {
  uint32_t trainer = 0;
  bool takes_id = false;
  Incarnation incarnation;
  std::string process;  // "host:pid"
};

struct Admission {
  enum class Verdict {
    admitted,
    refused,
    expired,  // it must come as a newer renewal
    held,     // another process has the id, and may be gone: come again
    taken,    // another process has the id, and has lived after this one came first
  } verdict = Verdict::refused;
  uint32_t trainer = 0;
  std::string why;
  bool first = true;  // held: the applicant was not told before
};

class Admissions {
 public:
  // The id belongs to the process from here on, unless another one holds it that may be alive.
  Admission admit(Members& members, const Applicant& applicant, Time now);
  // A heartbeat of a holder, which has seen the answer of this number.
  void beat(Holder& holder, uint64_t echo, Time now) const;
  // For the next answer to a heartbeat.
  uint64_t number_answer() { return ++answers_; }

 private:
  // A process that wants an id which another one has.
  struct Rival {
    uint64_t process = 0;
    Time since{}, asked{};
    uint64_t answers = 0;  // to heartbeats when it came first
  };
  static bool proven(const Member& m, const Rival& r) { return m.holder.echoed > r.answers; }
  Rival& rival(uint64_t process, Time now);
  Admission contest(const Members& members, const Member& m, const Applicant& applicant, Time now);
  Admission none_free(const Members& members, const Applicant& applicant, Time now);

  std::vector<Rival> rivals_;
  uint64_t answers_ = 0;  // to heartbeats, so far
};

}  // namespace paddle
