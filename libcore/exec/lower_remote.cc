#include "exec/lower_remote.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr auto config = Error::Kind::config;

// A user may split and concat too; the ops of the cut carry its role.
bool is_of_cut(const Op& op) {
  const bool reshapes = op.type == "split_byref" || op.type == "concat";
  return op.type == "send" || op.type == "recv" || op.type == "send_barrier" ||
         op.type == "fetch_barrier" || (reshapes && op.role() == role::dist);
}

// Where each variable is first read, and first and last written.
struct Uses {
  std::unordered_map<std::string, size_t> first_read, first_written, last_written;
  explicit Uses(const std::vector<Op>& ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const std::string& name : ops[i].in.all()) first_read.emplace(name, i);
      for (const std::string& name : ops[i].out.all()) {
        first_written.emplace(name, i);
        last_written[name] = i;
      }
    }
  }
};

Op push_op(const std::string& grad, int32_t param) {
  Op push{.type = "push", .in = {{"X", {grad}}}, .attrs = {{"param", param}}};
  conform(push);
  return push;
}

Op await_answer_op(int32_t param) {
  Op await{.type = "await_answer", .attrs = {{"param", param}}};
  conform(await);
  return await;
}

Op pull_op(const std::string& name, int32_t param) {
  Op pull{.type = "pull", .out = {{"Out", {name}}}, .attrs = {{"param", param}}};
  conform(pull);
  return pull;
}

}  // namespace

std::vector<ExchangedParam> take_remote_ops(std::vector<Op>& ops, const Program& program,
                                            const Block& block) {
  const auto send =
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.type == "send"; });
  if (send != ops.end())
    require(!program.exchanged.empty(), config,
            "a program with send ops does not say which parameters it exchanges, so it comes from "
            "another program's cut: cut the program that was trained in one process (",
            op_text(*send), ")");
  const bool exchanges = send != ops.end();
  for (const ExchangedParam& e : program.exchanged)
    require(!exchanges || block.var(e.grad).kind == VarKind::lod_tensor, config, "cannot push '",
            e.grad, "': it holds selected rows, and shards take dense gradients");
  std::erase_if(ops, is_of_cut);
  return exchanges ? program.exchanged : std::vector<ExchangedParam>{};
}

void place_remote_ops(std::vector<Op>& ops, const std::vector<ExchangedParam>& exchanged,
                      const Remote* remote) {
  if (exchanged.empty()) return;
  const Uses uses(ops);
  std::vector<std::vector<Op>> before(ops.size()), after(ops.size());
  for (size_t i = 0; i < exchanged.size(); ++i) {
    const auto param = static_cast<int32_t>(i);
    const auto written = uses.last_written.find(exchanged[i].grad);
    require(written != uses.last_written.end(), config, "the gradient '", exchanged[i].grad,
            "' is sent, but no op computes it");
    after[written->second].push_back(push_op(exchanged[i].grad, param));
    if (remote != nullptr && remote->read_until(param) == Remote::ReadUntil::answered)
      before[uses.first_written.at(exchanged[i].grad)].push_back(await_answer_op(param));
    // One that nothing reads is pulled all the same: its version must not fall behind.
    const auto read = uses.first_read.find(exchanged[i].param);
    before[read == uses.first_read.end() ? 0 : read->second].push_back(
        pull_op(exchanged[i].param, param));
  }
  std::vector<Op> out;
  out.reserve(ops.size() + 2 * exchanged.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    std::move(before[i].begin(), before[i].end(), std::back_inserter(out));
    out.push_back(std::move(ops[i]));
    std::move(after[i].begin(), after[i].end(), std::back_inserter(out));
  }
  ops = std::move(out);
}

}  // namespace paddle
