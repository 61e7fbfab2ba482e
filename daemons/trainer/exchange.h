// How a trainer and the shards exchange gradients and parameters: one class per way of doing it,
// all behind this interface. An exchange is a state machine without I/O: it is told which gradients
// were made and which values have arrived, and says what to send and whether the trainer may go on.
// The waiting in between is the caller's (ps_client.h; a simulated trainer needs no thread).
//
// Nothing here allocates memory per slice and step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/kernel.h"
#include "trainer/row_cache.h"
#include "trainer/sent_updates.h"
#include "trainer/slice_layout.h"
#include "wire/messages.h"

namespace paddle {

// Takes the messages of an exchange. One to a shard that cannot be reached is lost: the exchange
// stays incomplete until join() begins it anew. Bulk keeps its content until it was answered.
class ShardSender {
 public:
  virtual ~ShardSender() = default;
  virtual void send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) = 0;
  virtual void send(uint32_t shard, const wire::Pull& pull) = 0;
  // The answer has the same `id`.
  virtual void send(uint32_t shard, uint64_t id, const wire::PullRows& pull, wire::Bytes ids) = 0;
};

// A step and where its data lies.
struct StepRange {
  uint64_t step = 0;
  wire::Position begin, end;
};

// When gradients may be pushed, and how long their memory is used.
class GradientPlaces {
 public:
  virtual ~GradientPlaces() = default;
  // Whether gradients of this step may be pushed.
  virtual bool may_push() const { return true; }
  // Whether there is a place for this parameter's; where its memory is read until it was answered,
  // also whether the next one may be written there.
  virtual bool has_place(int32_t param) const {
    static_cast<void>(param);
    return true;
  }
  // How long the gradient's memory stays as it is.
  virtual Remote::ReadUntil read_until(int32_t param) const {
    static_cast<void>(param);
    return Remote::ReadUntil::pushed;
  }
};

class ParamExchange : public GradientPlaces {
 public:
  enum class Manner {
    repeats_steps,  // a step that broke is computed again; gradients are sent from their own memory
    sends_again,    // what a step that broke has made is kept and sent again
    streams,        // the same; values are used whenever they arrive, also while a step is computed
  };

  // `layout` and `out` outlive it.
  ParamExchange(const SliceLayout& layout, ShardSender& out, Manner manner, const UpdateKind& kind);
  ParamExchange(const ParamExchange&) = delete;
  ParamExchange& operator=(const ParamExchange&) = delete;

  // The memory of every parameter. Values arrive there; nothing may be on its way.
  void locate(std::span<std::byte* const> params);

  // ---- a step of the trainer, in this order
  virtual bool may_begin() const { return true; }
  virtual void begin_step(const StepRange& range) { range_ = range; }
  // Whether the parameter may be read: its values for this step are here.
  virtual bool may_read(int32_t param) const = 0;
  // The gradient of a parameter, where it may be pushed and has a place.
  virtual void push(int32_t param, const std::byte* grad) = 0;
  // Afterwards the caller waits until none is awaited, where this returns true.
  virtual bool end_step() { return false; }

  // ---- outside steps
  // Nothing is on its way or waits to be sent, and the values of `step` are here.
  virtual bool settled(uint64_t step) const = 0;
  // All steps before `end.step` were made, and the data ends there. As end_step().
  virtual bool finish(const StepRange& end) {
    static_cast<void>(end);
    return false;
  }
  Manner manner() const { return manner_; }
  // Asks for all values again.
  void pull_all();

  // ---- joining
  // The job goes on with `step`: what the shards lack is sent again, everything else is pulled.
  // `states` holds what the shards said of each slice, by id. Wait until none is awaited.
  void join(uint64_t epoch, uint64_t step, std::span<const wire::SliceState> states);
  // The values of a slice on its shard, as this trainer knows them.
  virtual const std::byte* shard_copy(uint32_t slice) const { return states_[slice].value; }
  SentUpdates& updates() { return updates_; }

  // ---- what arrives
  // Where the values of a message belong. Throws Error(protocol) for what nobody asked for. The
  // list stays until the next call for the same shard.
  std::span<const std::span<std::byte>> landing(uint32_t shard, const wire::Values& values,
                                                uint64_t bytes);
  // They are there.
  void arrived(uint32_t shard, const wire::Values& values);

  bool none_awaited() const { return awaited_ == 0; }
  // A slice whose values are on their way.
  std::optional<uint32_t> first_awaited() const;

 protected:
  struct State {
    std::byte* value = nullptr;  // in the parameter's memory
    uint64_t version = 0;        // of what is there; 0 while it is pulled anew
    uint64_t based_on = 0;       // version that the gradient on its way was computed with
    bool awaited = false;        // an answer is on its way
    bool unanswered = false;     // whether the last push was applied is not known yet
  };

  // Pushes of the group's slices with these ids; `bulk` are their gradients, in this order.
  void send_push(uint32_t group, const StepRange& range, std::span<const uint32_t> ids,
                 std::span<const wire::Bytes> bulk);
  void send_pull(uint32_t group, std::span<const uint32_t> ids, uint64_t version);

  // Where the values of a slice land.
  virtual std::byte* target(uint32_t id) { return states_[id].value; }
  // All values of a group are there.
  virtual void group_arrived(uint32_t group) { static_cast<void>(group); }
  // The exchange begins anew at `step`; returns which version of all slices to pull, at least.
  virtual uint64_t rejoin(uint64_t step) = 0;
  // The gradient of a slice that was sent with this step, as it was sent; empty where it is not
  // kept.
  virtual wire::Bytes sent(uint32_t id, StepRange& range) const {
    static_cast<void>(id);
    static_cast<void>(range);
    return {};
  }

  const SliceLayout& layout_;
  std::vector<State> states_;  // by id of the slice
  StepRange range_;

 private:
  ShardSender& out_;
  const Manner manner_;
  SentUpdates updates_;
  uint64_t epoch_ = 0;
  size_t awaited_ = 0;                   // slices
  std::vector<uint32_t> group_awaited_;  // slices of each group
  std::vector<wire::PushPart> push_parts_;
  std::vector<wire::PullPart> pull_parts_;
  std::vector<std::vector<std::span<std::byte>>> landings_;  // of each shard
};

struct ExchangeOptions {
  wire::Mode mode = wire::Mode::sync;
  uint32_t trainers = 1;
  uint64_t queue_size = 20;                 // async: steps merged before the trainer waits
  bool merge_mean = false;                  // async: mean instead of sum
  uint64_t merge_memory = 8u << 20;         // async: bytes to merge gradients in
  uint64_t geo_steps = 1;                   // geo: steps between two exchanges
  uint64_t geo_memory = uint64_t{1} << 30;  // geo: bytes of rows of tables, at most
  bool rows_ahead = true;                   // not geo: those of the next batch are asked for early
  RowCacheOptions row_cache;                // async, half-async
};
std::unique_ptr<ParamExchange> make_exchange(const SliceLayout& layout,
                                             const ExchangeOptions& options, ShardSender& out);

}  // namespace paddle
