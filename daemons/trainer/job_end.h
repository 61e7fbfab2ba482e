// The end of a trainer's part in a job: it reports that it has finished, waits for the others and
// for trainer 0 to save, and leaves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/join_driver.h"
#include "trainer/ps_links.h"
#include "trainer/rewind.h"

namespace paddle {

class JobEnd {
 public:
  // `links` and `driver` outlive it.
  JobEnd(Links& links, JoinDriver& driver, double peer_timeout)
      : links_(links), driver_(driver), peer_timeout_(peer_timeout) {}

  // All data is used, or there is more to do after all.
  void reached() { at_end_ = true; }
  void goes_on() { at_end_ = false; }
  // This trainer joins anew: it has to report again that it has finished. Returns whether
  // all data is used.
  bool joins() {
    finished_ = all_finished_ = false;
    return at_end_;
  }
  // The shards know that this trainer has finished.
  bool finished() const { return finished_; }

  // For every wait of a trainer that has joined. Throws Disrupted where joining again may help, and
  // Rewind where nothing is left to do: a trainer that had finished, and computes steps again for
  // a pserver that was lost, stops when trainer 0 has saved meanwhile, as the others may have left.
  // So does a new process of a trainer that had finished.
  Time check();

  // ---- these block, and throw what check() throws
  void finish();
  void wait_for_others();
  void wait_for_save();
  // The last message to the shards; throws neither of the two. Trainer 0 stays until the others
  // have left as well: where a pserver is lost that had the result alone, it sends it once more.
  void leave();

 private:
  uint32_t trainer() const { return driver_.hello().trainer; }
  void complete(wire::Phase phase, const std::string& what, std::vector<bool>& done);
  void wait_for_news(const std::string& what, bool (*enough)(const ShardNews&, uint32_t trainers));
  struct Leaving {
    Time until;                       // it is tried
    std::vector<bool> done, refused;  // shards that have answered, and that refuse all trainers
    std::optional<Time> refused_at;   // since when all answers are refusals
  };
  void wait_until_left(Leaving& l);
  void greet_those_left(Leaving& l);
  bool others_left() const;

  Links& links_;
  JoinDriver& driver_;
  const double peer_timeout_;
  bool finished_ = false, at_end_ = false;
  bool had_finished_ = false;  // once; the job may have gone back since
  bool all_finished_ = false;  // of trainer 0, when it leaves
};

}  // namespace paddle
