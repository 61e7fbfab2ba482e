// A block compiled for one list of feeds and fetches: kernels chosen, neighbours fused, memory laid
// out. A plan adapts itself to new feed shapes; between two runs of the same shapes nothing is
// allocated or looked up.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/feed_copies.h"
#include "graph/find_tables.h"
#include "graph/infer.h"
#include "graph/kernel.h"
#include "graph/op_def.h"
#include "graph/program.h"
#include "tensor/scope.h"

namespace paddle {

class Gpu;
class LocalTables;
struct PlanTables;

struct PlanOptions {
  bool fuse = true;
  bool check_nan_inf = false;  // after every op; names the op and the variable
  bool profile = false;        // measures every op; see Plan::profile()
  Remote* remote = nullptr;    // what send and recv ops talk to; outlives the plan
  // Where ops run that have a kernel for it, shared with all plans of a job; null for the CPU
  // alone.
  std::shared_ptr<Gpu> gpu = nullptr;
  bool replay = true;  // with a GPU: ops that need nothing of the host are replayed together
  // Called with the bytes that the plan is about to take, in its arena or in the scope; what it
  // throws ends the run before they are taken.
  std::function<void(uint64_t bytes)> before_memory = {};
};

// What one op of a plan cost so far.
struct OpCost {
  std::string op;  // as op_text() writes it
  double seconds = 0;
  int64_t calls = 0;
  double least = 0, most = 0;  // seconds of the fastest and of the slowest call
};

class Plan {
 public:
  // Variables that are persistable, or that the scope holds already, live in the scope, and so do
  // gradients that a Remote reads after they were pushed; feeds are borrowed; the rest is the
  // plan's own. The program may change or go away afterwards; the scope must outlive the plan.
  Plan(const Program& program, int32_t block, Scope& scope, const Names& feeds,
       const Names& fetches, const Device& device, const PlanOptions& options);
  ~Plan();

  // Sets feed i for the next runs. The tensor's memory and LoD are used where they are, so it must
  // outlive those runs.
  void feed(size_t i, const Tensor& tensor);
  // Whether the block writes to the memory of feed i; whoever wants to keep it feeds a copy.
  bool writes_feed(size_t i) const { return vars_[static_cast<size_t>(feeds_[i])].written; }
  // `step` selects the random numbers of dropout and the like.
  void run(uint64_t step);
  // The feeds of the run after the next one, whose number will be `step`: a Remote gets the
  // ids of the rows that it will look up, where they are fed and not computed. Not before the first
  // run. A GPU copies them while it computes: where that run is fed these tensors, their elements
  // are as they were.
  void announce(std::span<const Tensor> feeds, uint64_t step);
  // Fetch i as it stands after run(); good until the next one.
  const View& fetched(size_t i) const { return vars_[static_cast<size_t>(fetches_[i])].view; }
  // A copy; of selected rows the dense tensor that they stand for.
  Tensor fetch(size_t i) const;

  // What the compiler made of the block, one op per line, and the bytes of the arena.
  std::string text() const;
  // The ops in order of execution, with their costs where PlanOptions::profile is set.
  std::vector<OpCost> profile() const;
  size_t arena_bytes() const { return arena_.empty() ? 0 : arena_.bytes(); }
  // With a GPU, after a run: the device, the bytes that the kernels of a step read and write there
  // at least, and those that its variables take.
  const std::shared_ptr<Gpu>& gpu() const { return options_.gpu; }
  uint64_t gpu_traffic() const;
  uint64_t gpu_memory() const;
  // The types of the ops that the CPU runs all the same, but what talks to pservers.
  std::set<std::string> types_on_cpu() const;

 private:
  enum class Home { temp, feed, scope };
  struct PlanVar {
    std::string name;
    Home home = Home::temp;
    View view;
    Meta meta;
    Meta declared;                   // as the program says
    Variable* variable = nullptr;    // in the scope
    bool written = false;            // the block writes it
    bool written_first = false;      // the block writes it before it reads it
    bool never_given = false;        // a temporary that is read before anything writes it
    bool filled = false;             // while shapes are inferred: it has a value at this step
    const Lod** lod_cell = nullptr;  // follows the LoD of this feed
    // With a GPU (on_device.cc): the variable as kernels see it there, and, unless it is the
    // scope's, where its value is.
    View device_view;
    DeviceMemory device;  // of a feed
    FeedCopies feed;
    Tensor fetched;  // of a fetch, pinned
    PinnedTensor pinned;
    CopyTicket coming = 0;        // a value of pservers on its way to the GPU
    bool read_on_device = false;  // by an op there
    Copies current;
  };
  struct Step {
    Op op;
    const OpDef* def = nullptr;
    Kernel kernel;
    std::vector<int> in, out;  // variable of each argument, -1 for @EMPTY@
    std::vector<View*> args;
    bool on_device = false;
    bool replayable = false;      // until it turns out to need the host
    std::vector<int> reads;       // variables whose elements it reads; known where there is a GPU
    bool check_gradients = true;  // when shapes are inferred next
    bool early = false;           // shapes depend on its results; see early.cc
    uint64_t seed = 0;
    double seconds = 0, least = 0, most = 0;
    int64_t calls = 0;
  };
  // Steps of a GPU that are replayed together, from one position to another.
  struct Replayed {
    size_t end = 0;
    std::unique_ptr<Recording> recording;
    std::vector<int> reads, writes;  // variables, beforehand and afterwards in the GPU's memory
  };
  // A gradient on its way to the host, from where the step sends it on.
  struct PendingPush {
    const Step* step;
    CopyTicket copy;
  };
  struct Buffer {
    size_t bytes = 0, offset = 0;
    int first = 0, last = 0;
  };

  void add_ops(const Program& program, const Block& block, const Names& feeds, const Names& fetches,
               bool fuse);
  void keep_tables(const PlanTables& tables);
  const Var* declared_var(const Block& block, const std::string& name) const;
  int var_index(const Block& block, const std::string& name);
  bool lod_changed(size_t feed, const Lod& lod) const;
  void layout();
  void infer_shapes();
  void infer_step(Step& step);
  void split_var(Step& step, size_t out, const Meta& result);
  bool takes_foreign_gradient(const Step& step) const;
  void find_early_steps();
  Tensor root_tensor(int var) const;
  void take_root_values();
  bool root_values_changed() const;
  void run_early(const Step& step, std::span<Meta* const> in, std::vector<Meta>& results);
  void take_scope_shapes();
  void place_temporaries();
  std::vector<int> last_uses() const;
  void set_views();
  void bind_kernels();
  Kernel bind(const OpDef& def, const Step& step, std::span<Meta* const> in,
              std::span<const Meta> out) const;
  bool scope_moved() const;
  void run_steps(uint64_t step);
  void run_step(const Step& step, uint64_t number);
  void announce(const Step& pull, std::span<const Tensor> feeds, uint64_t step);
  const OpDef* device_op(const Step& step) const;
  std::vector<int> reads_of(const Step& step) const;
  void place_on_device();
  void bring_roots();
  void begin_on_device();
  void run_with_gpu(const Step& step, uint64_t number, Remote* remote);
  void run_on_cpu(const Step& step, uint64_t number, Remote* remote);
  Guard guard_of(const Step& step) const;
  void to_host(int var);
  void to_device(int var);
  // copies that go on beside the computing (device_copies.cc)
  void start_push(const Step& step);
  void send_pushes(uint64_t number, Remote* remote, bool all);
  void drop_pushes();
  void send_value(const Step& pull);
  void bring_fetches(std::span<const Tensor> next);
  void send_ahead(std::span<const Tensor> next);
  void finish_copy(CopyTicket copy);
  void check_replayed(bool wait);
  void report_failed_check();
  void add_failed_op(Error& e, const Step* running) const;
  // recordings (device_replay.cc)
  bool can_replay() const;
  void begin_replays();
  size_t run_replayed(size_t first, uint64_t number);
  const Replayed* record(size_t first, uint64_t number);
  bool record_steps(size_t first, size_t& end, uint64_t number, Replayed& made);
  void run_gpu_steps(uint64_t number);
  void run_all_on_gpu(uint64_t number);
  Copies& current(PlanVar& v) { return v.variable ? v.variable->current : v.current; }
  void check_finite(const Step& step) const;

  Scope& scope_;
  Device device_;
  PlanOptions options_;
  uint32_t seed_;
  std::set<std::string> pushed_;         // gradients whose memory is read after the step has ended
  std::unique_ptr<LocalTables> tables_;  // null where nothing is looked up in one
  std::vector<std::pair<Var, FirstRows>> started_;  // what a startup program gives to tables
  std::vector<Var> own_vars_;                       // that the block does not have
  std::vector<PlanVar> vars_;
  std::unordered_map<std::string, int> index_;
  std::vector<Step> steps_;
  std::vector<int> feeds_, fetches_, scope_vars_;
  std::vector<int> exchanged_;  // of the scope, pushed or pulled; known where there is a GPU
  std::vector<const Lod*>
      feed_lods_;  // the offsets of each feed, read by every variable that shares them
  std::vector<std::vector<size_t>> feed_lod_sizes_;  // what the layout was made for
  std::deque<Lod> lods_;                             // offsets that shape rules made
  std::vector<Lod> feed_values_;                     // the feeds' offsets that they were made of
  std::vector<bool> fed_;
  std::vector<int> early_roots_;  // feeds and variables of the scope that shapes depend on
  std::deque<Tensor>
      early_values_;  // theirs when the plan was laid out, and what follows from them
  View nothing_;      // stands for @EMPTY@
  bool laid_out_ = false, bound_ = false;
  struct {
    std::vector<int64_t> ids;
    std::vector<View> views;
    std::vector<View*> args;
  } announced_;  // memory of announce()
  Tensor arena_;
  Scratch scratch_;
  // With a GPU:
  DeviceMemory device_arena_;
  Scratch device_scratch_;
  std::map<size_t, Replayed> replayed_;  // by the first step
  bool ran_since_layout_ = false;        // all memory that kernels need was taken
  uint64_t releases_ = 0;                // Accelerator::releases() when that was so
  uint32_t first_number_ = 0;            // of the steps, in guards
  DeviceMemory failed_;                  // Guard::failed of this plan
  Tensor failed_on_host_;
  PinnedTensor pinned_failed_;
  CopyTicket last_check_ = 0;
  bool unchecked_ = false;  // checks were replayed and not looked at
  uint64_t run_number_ = 0;
  std::deque<PendingPush> pushes_;
  std::vector<Tensor> ahead_;  // feeds of the run after the one that begins next
  std::vector<Tensor> sent_ahead_;
};

}  // namespace paddle
