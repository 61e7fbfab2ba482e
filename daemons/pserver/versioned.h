// What a shard keeps under versions: a slice of a parameter (slice.h) or its part of a sparse table
// (table_part.h). Rounds, waits, members and snapshots treat both alike. Belongs to the shard's
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace paddle {

struct SliceInfo {
  uint32_t id = 0;  // in the whole cut
  std::string name,
      grad;           // variables of the shard's program; of a table: as the program names them
  int32_t block = 0;  // that updates it; 0 for a table
  size_t place = 0;   // among all that the shard keeps: slices first, then parts of tables
};

// A whole gradient as it came: the elements of a slice; ids and rows for a table.
struct Gradient {
  std::byte* data = nullptr;
  uint32_t rows = 0;   // of a table
  double largest = 0;  // absolute value in it
};

class Versioned {
 public:
  explicit Versioned(SliceInfo info) : info_(std::move(info)) {}
  virtual ~Versioned() = default;
  Versioned(Versioned&&) = default;
  Versioned& operator=(Versioned&&) = delete;

  const SliceInfo& info() const { return info_; }
  uint64_t version() const { return version_; }
  // Sync: the values of version() - 1 are still here.
  virtual bool has_previous() const = 0;
  // Bytes of the values.
  virtual uint64_t bytes() const = 0;
  // An update leaves the values where they are, and values that were handed out may be read
  // meanwhile (wire::Bulk::live).
  virtual bool lowered() const = 0;

  // ---- gradients
  // Bytes of one with so many rows; none where there can be no such gradient.
  virtual std::optional<uint64_t> gradient_bytes(uint32_t rows) const = 0;
  // Why a whole gradient makes no sense, whatever its numbers are; "" where it does.
  virtual std::string gradient_problem(const Gradient& grad) {
    static_cast<void>(grad);
    return "";
  }
  // The largest absolute value in it; Inf where there is NaN.
  virtual double largest_in(const Gradient& grad) = 0;

  // Sync: adds a gradient to those of the round, in the order of trainers. Throws Error(config)
  // where there is no memory for it.
  virtual void contribute(const Gradient& grad) = 0;
  uint32_t summed() const { return summed_; }
  // Sync: the average of the gradients makes the next version. Throws Error where that cannot be:
  // then nothing has changed, and the job cannot go on.
  virtual void close_round() = 0;
  // Async: a gradient, which may be changed, or geo: a difference, makes the next version at once.
  // False where that would hold NaN or Inf: then nothing has changed. Throws Error.
  virtual bool update(const Gradient& grad, bool geo) = 0;

  // What it holds is now of `version`; nothing is summed yet.
  virtual void restart(uint64_t version) {
    version_ = version;
    summed_ = 0;
  }

 protected:
  SliceInfo info_;
  uint64_t version_ = 0;
  uint32_t summed_ = 0;
};

}  // namespace paddle
