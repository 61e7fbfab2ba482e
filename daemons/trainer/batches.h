// The batches of a reader, each with a look at the one that follows it: so its rows of sparse
// tables can be asked for early. The reader is one batch further then; position() is not.
#pragma once

#include <utility>

#include "data/reader.h"

namespace paddle {

class Batches {
 public:
  // The reader outlives it. Without `looks` nothing is read ahead.
  Batches(Reader& reader, bool looks) : reader_(reader), looks_(looks) {}

  void seek(const Position& to) {
    ahead_ = false;
    reader_.seek(to);
    end_ = to;
  }
  // As Reader::next().
  bool next() {
    if (ahead_) {
      ahead_ = false;
      std::swap(batch_, following_);
    } else if (!reader_.next(batch_)) {
      return false;
    }
    end_ = reader_.position();
    return true;
  }
  const Batch& batch() const { return batch_; }
  // Where the batch ends.
  const Position& position() const { return end_; }
  // The batch behind it, or null: at the end of a pass, and where it is not there yet.
  const Batch* following() {
    if (!ahead_ && looks_ && reader_.ready()) ahead_ = reader_.next(following_);
    return ahead_ ? &following_ : nullptr;
  }

 private:
  Reader& reader_;
  const bool looks_;
  bool ahead_ = false;  // `following_` was read
  Batch batch_, following_;
  Position end_;
};

}  // namespace paddle
