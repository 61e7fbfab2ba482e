#include "base/error.h"
#include "base/machine_memory.h"
#include "optim/rule.h"
#include "paddle/table_commands.h"
#include "paddle/table_stats.h"

namespace paddle {
namespace {

std::string first_values(const TableSpec& s) {
  if (s.init == "constant") return text(s.init_a);
  if (s.init == "uniform") return text("uniform from ", s.init_a, " to ", s.init_b);
  return text(s.init, ", mean ", s.init_a, ", deviation ", s.init_b);
}

std::vector<std::string> state_names(const TableSpec& s, const RowLayout& layout) {
  const optim::Rule* rule = optim::find_row_rule(s.rule);
  std::vector<std::string> out;
  if (rule == nullptr) return out;
  const int64_t arrays =
      rule->state_per_row ? layout.state_numbers : layout.state_numbers / layout.width;
  for (int64_t k = 0; k < arrays; ++k) out.push_back(rule->states[static_cast<size_t>(k)].name);
  return out;
}

std::string rule_text(const TableSpec& s, const RowLayout& layout) {
  std::string out = s.rule;
  for (const auto& [name, value] : s.settings) out += text(", ", name, " ", value);
  if (s.l2 != 0) out += text(", l2 ", s.l2);
  if (layout.state_numbers == 0) return out + "; no state";
  return out + text("; state of a row: ", layout.state_numbers,
                    layout.state_numbers == 1 ? " number" : " numbers");
}

// Options that are off are left out.
std::string row_options(const TableSpec& s) {
  std::string out;
  const auto add = [&](bool on, const auto&... words) {
    if (on) out += (out.empty() ? "" : ", ") + text(words...);
  };
  add(s.admit_count > 1, "min_count ", s.admit_count);
  add(s.admit_probability < 1, "probability ", s.admit_probability);
  add(s.expire_unseen_steps > 0, "unseen_steps ", s.expire_unseen_steps);
  add(s.expire_min_score > 0, "min_score ", s.expire_min_score);
  add(s.expire_half_life > 0, "half_life ", s.expire_half_life);
  add(s.expire_floor > 0, "floor ", s.expire_floor);
  add(s.memory_limit > 0, "memory_limit ", memory_text(s.memory_limit));
  add(s.evict, "evict");
  return out;
}

std::string wanted_row(const TableFile& file, uint64_t id, const TableStats& stats) {
  std::vector<float> values(static_cast<size_t>(file.layout().width));
  std::string out;
  const auto it = stats.wanted.find(id);
  const auto add = [&](const char* name, const std::vector<float>& numbers) {
    out += name;
    for (const float v : numbers) out += text(" ", v);
    out += "\n";
  };
  if (it == stats.wanted.end()) {
    file.without_rows().pull({&id, 1}, values.data());
    out = text("id ", id, " has no row; its lookups give the first values:\n");
    add("  values", values);
    return out;
  }
  const RowText& row = it->second;
  out = text("id ", id, ": step ", row.step, ", ", row.count, " updates\n");
  add("  values", row.values);
  if (!row.states.empty()) add("  state", row.states);
  return out;
}

}  // namespace

std::string inspect_table(TableFile& file, size_t samples, const std::vector<uint64_t>& ids) {
  TableStats stats(file.layout(), samples, ids);
  file.each_row([&](const std::byte* row) { stats.add(row); });
  const TableSpec& s = file.spec();
  std::string out =
      text("table         '", s.param, "' in ", file.path(), "\n", "rows          ", file.rows(),
           " of ", s.width, " values (", s.bf16 ? "bfloat16" : "float32", "); ids ");
  out += s.height < 0 ? std::string("are any 64-bit numbers") : text("are below ", s.height);
  out += text("\nbytes         ", file.bytes(), " (", memory_text(file.bytes()), "), ",
              file.layout().row_bytes(), " per row\n", "updates       ", file.head().version,
              " of the table\n", "optimizer     ", rule_text(s, file.layout()), "\n",
              "first values  ", first_values(s), "; seed ", s.seed, "\n");
  if (const std::string options = row_options(s); !options.empty())
    out += "options       " + options + "\n";
  out += stats_text(stats, state_names(s, file.layout()));
  for (const uint64_t id : ids) out += wanted_row(file, id, stats);
  return out;
}

}  // namespace paddle
