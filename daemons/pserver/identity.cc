#include "pserver/identity.h"

#include <string_view>
#include <vector>

#include "base/wrap.h"
#include "graph/text.h"

namespace paddle {
namespace {

// Long enough for any sentence, and no more than a log line should hold.
constexpr size_t max_name = 256, max_line = 200;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    out.push_back(text.substr(0, end));
  return out;  // without the last one, which may have been cut off
}

// Comes from a peer and goes into a log.
std::string quoted(const std::vector<std::string_view>& lines, size_t i) {
  if (i >= lines.size()) return "nothing more";
  return "'" + escaped(lines[i].substr(0, max_line)) + (lines[i].size() > max_line ? "…'" : "'");
}

// "" where it is not known.
std::string first_difference(const std::string& here, const std::string& theirs) {
  const auto a = lines_of(here), b = lines_of(theirs);
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  if (a.empty() || b.empty() || (i == a.size() && i == b.size())) return "";
  return text("; the first difference: here ", quoted(a, i), ", there ", quoted(b, i));
}

template <class Here, class Theirs>
std::string differs(const char* what, const Here& here, const Theirs& theirs, const char* remedy) {
  return text(what, " differs: this pserver has ", here, ", the trainer has ", theirs, "; ",
              remedy);
}

}  // namespace

void check_hello(const wire::Hello& h) {
  for (const std::string* s : {&h.build, &h.job, &h.program, &h.process})
    require(s->size() <= max_name, Error::Kind::protocol, "a greeting with a name of ", s->size(),
            " bytes; at most ", max_name, " are allowed");
  for (const std::string* s : {&h.build, &h.job, &h.program, &h.process})
    require(one_line(*s) == *s, Error::Kind::protocol,
            "a greeting with a name that has control characters");
  require(h.outline.size() <= wire::max_outline, Error::Kind::protocol,
          "a greeting with a program of ", h.outline.size(), " bytes of text");
}

Identity identity_of(const wire::Hello& h) {
  return {.job = h.job,
          .program = h.program,
          .set_by = h.process,
          .mode = h.mode,
          .trainers = h.trainers,
          .shard = h.shard,
          .shards = h.shards,
          .outline = h.outline};
}

std::string options_mismatch(const ShardOptions& o, const wire::Hello& h) {
  if (!o.job.empty() && h.job != o.job)
    return differs("the job name", "'" + o.job + "'", "'" + h.job + "'",
                   "give both the same --job_name, or the trainer another --pservers");
  if (o.trainers && h.trainers != *o.trainers)
    return differs("the number of trainers", *o.trainers, h.trainers,
                   "give all processes the same --num_gradient_servers");
  if (h.trainers == 0 || h.trainers > 65535)
    return text("a job of ", h.trainers, " trainers is not possible");
  return "";
}

std::string identity_mismatch(const Identity& i, const wire::Hello& h, const std::string& hint) {
  const std::string by = " (from " + i.set_by + ")";
  std::string why;
  if (h.job != i.job)
    why = differs("the job name", "'" + i.job + "'" + by, "'" + h.job + "'",
                  "one pserver serves one job at a time: wait for its end, or use another");
  else if (h.trainers != i.trainers)
    why = differs("the number of trainers", text(i.trainers, by), h.trainers,
                  "give all processes the same --num_gradient_servers");
  else if (h.mode != i.mode)
    why = differs("the mode", wire::name_of(i.mode) + by, wire::name_of(h.mode),
                  "give all trainers the same of --sync, --async, --half_async, --geo_steps");
  else if (h.program != i.program)
    why = differs("the program", "digest " + i.program + by,
                  "digest " + h.program + first_difference(i.outline, h.outline),
                  "all trainers need the same job file, arguments and version (paddle dump_config "
                  "shows what each would run); a snapshot of another job needs another "
                  "--snapshot_dir");
  else if (h.shard != i.shard || h.shards != i.shards)
    why = differs("the place in the list of pservers", text(i.shard, " of ", i.shards, by),
                  text(h.shard, " of ", h.shards),
                  "give all trainers the same --pservers in the same order");
  return why.empty() ? why : why + hint;
}

}  // namespace paddle
