// Who this trainer is to the shards: its greeting, with an id that it was started with or that the
// first shard gave it.
#pragma once

#include <utility>

#include "wire/messages.h"

namespace paddle {

class JoinIdentity {
 public:
  explicit JoinIdentity(wire::Hello hello) : hello_(std::move(hello)) {}

  const wire::Hello& hello() const { return hello_; }
  // Whether this process has used all its data.
  void set_finished(bool finished) { hello_.finished = finished; }
  // The first shard gave this id.
  void given(uint32_t trainer) {
    hello_.trainer = trainer;
    hello_.takes_id = false;
    was_given_ = true;
  }
  // Another trainer has the id: whether this one asks for another. An id that was given out holds
  // once the trainer has joined; until then the shard may have forgotten it, between two
  // connections, and given it to somebody else.
  bool ask_for_another(bool joined) {
    constexpr int most = 10;
    const bool has_own = was_given_ && !hello_.takes_id && !joined;
    if (!has_own || ++other_ids_ > most) return false;
    hello_.takes_id = true;
    return true;
  }
  // A lease has ended: it joins anew, for all shards alike.
  void renew() { ++hello_.renewal; }

 private:
  wire::Hello hello_;
  bool was_given_ = false;
  int other_ids_ = 0;  // asked for, as another trainer got the one that was given
};

}  // namespace paddle
