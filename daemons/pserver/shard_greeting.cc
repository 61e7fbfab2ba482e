// Who may take part: Hello, Join, Beat, Complete.
#include <algorithm>
#include <string_view>

#include "base/log.h"
#include "graph/text.h"
#include "pserver/shard.h"

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

void check_hello(const wire::Hello& h) {
  for (const auto* s : {&h.build, &h.job, &h.program, &h.process})
    require(s->size() <= max_name, Error::Kind::protocol, "a greeting with a name of ", s->size(),
            " bytes; at most ", max_name, " are allowed");
  require(h.outline.size() <= wire::max_outline, Error::Kind::protocol,
          "a greeting with a program of ", h.outline.size(), " bytes of text");
}

}  // namespace

// "" where the trainer fits the job.
std::string Shard::mismatch(const wire::Hello& h) const {
  const auto differs = [](const std::string& what, const auto& here, const auto& theirs,
                          const std::string& remedy) {
    return text(what, " differs: this pserver has ", here, ", the trainer has ", theirs, "; ",
                remedy);
  };
  if (options_.sparse)
    return text("port ", port(),
                " serves sparse tables, and the trainer takes it for one of dense "
                "slices; give all processes the same --port, --ports_num and "
                "--ports_num_for_sparse");
  if (!options_.job.empty() && h.job != options_.job)
    return differs("the job name", "'" + options_.job + "'", "'" + h.job + "'",
                   "give both the same --job_name, or the trainer another --pservers");
  if (options_.trainers && h.trainers != *options_.trainers)
    return differs("the number of trainers", *options_.trainers, h.trainers,
                   "give all processes the same --num_gradient_servers");
  if (h.trainers == 0 || h.trainers > 65535)
    return text("a job of ", h.trainers, " trainers is not possible");
  if (!identity_) return "";
  const Identity& i = *identity_;
  const bool deserted = std::none_of(peers_.begin(), peers_.end(), [](const Peer& p) {
    return p.is_trainer() && p.greeted && p.connection->open();
  });
  const std::string over =
      deserted ? text("; nobody of that job is connected: if it is over, start this pserver again",
                      snapshots_ ? " with another --snapshot_dir" : "")
               : "";
  const std::string by = " (from " + i.set_by + ")";
  if (h.job != i.job)
    return differs("the job name", "'" + i.job + "'" + by, "'" + h.job + "'",
                   "one pserver serves one job at a time: wait for its end, or use another") +
           over;
  if (h.trainers != i.trainers)
    return differs("the number of trainers", text(i.trainers, by), h.trainers,
                   "give all processes the same --num_gradient_servers") +
           over;
  if (h.mode != i.mode)
    return differs("the mode", wire::name_of(i.mode) + by, wire::name_of(h.mode),
                   "give all trainers the same of --sync, --async, --half_async, --geo_steps") +
           over;
  if (h.program != i.program)
    return differs("the program", "digest " + i.program + by,
                   "digest " + h.program + first_difference(i.outline, h.outline),
                   "all trainers need the same job file, arguments and version (paddle dump_config "
                   "shows what each would run); a snapshot of another job needs another "
                   "--snapshot_dir") +
           over;
  if (h.shard != i.shard || h.shards != i.shards)
    return differs("the place in the list of pservers", text(i.shard, " of ", i.shards, by),
                   text(h.shard, " of ", h.shards),
                   "give all trainers the same --pservers in the same order") +
           over;
  return "";
}

void Shard::take_identity(const Peer& peer, const wire::Hello& h) {
  if (identity_) return;
  identity_ = Identity{.job = h.job,
                       .program = h.program,
                       .set_by = peer.process,
                       .mode = h.mode,
                       .trainers = h.trainers,
                       .shard = h.shard,
                       .shards = h.shards,
                       .outline = h.outline};
  begin_members();
}

void Shard::begin_members() {
  const uint32_t n = identity_->trainers;
  members_.emplace(
      MemberOptions{n, options_.policy, options_.lease_seconds, options_.reconnect_seconds},
      Clock::now());
  last_pushes_.assign(n, {});
  staleness_.assign(n, {});
  progress_.assign(n, {});
}

void Shard::hello(Peer& peer, uint64_t id, const wire::Hello& h) {
  require(!peer.greeted, Error::Kind::protocol, "a second greeting on one connection");
  check_hello(h);
  peer.process = h.process;
  if (h.protocol != wire::protocol_version)
    return refuse(peer, id, Code::refused,
                  text("the protocol differs: this pserver speaks version ", wire::protocol_version,
                       " (", build_text(), "), ", peer.process, " speaks ", h.protocol, " (",
                       h.build, "); install the same version on all machines"));
  peer.role = h.role;
  if (h.role == wire::Role::observer) {
    peer.greeted = true;
    return welcome(peer, id);
  }
  if (stopping_) return refuse(peer, id, Code::stopping, "this pserver is going down");
  const std::string why = mismatch(h);
  if (!why.empty()) {
    note_error(text(peer.process, " was refused: ", why));
    return refuse(peer, id, Code::refused, why);
  }
  take_identity(peer, h);
  const Time now = Clock::now();
  const auto admission = members_->admit({h.trainer, h.takes_id, h.incarnation, peer.process}, now);
  if (admission.verdict != Members::Admission::Verdict::admitted) {
    const bool expired = admission.verdict == Members::Admission::Verdict::expired;
    if (!expired) note_error(text(peer.process, " was refused: ", admission.why));
    return refuse(peer, id, expired ? Code::expired : Code::refused, admission.why);
  }
  peer.greeted = true;
  peer.trainer = admission.trainer;
  peer.incarnation = h.incarnation;
  replace_connections(peer);
  members_->opened(peer.trainer, now);
  if (peer.is_trainer())
    log_info(text("port ", port(), ": ", peer.name(), " connected from ", peer.connection->peer()));
  welcome(peer, id);
}

// The same trainer on a new connection: what it said on the old one is over.
void Shard::replace_connections(const Peer& peer) {
  std::vector<Peer*> old;
  for (Peer& p : peers_)
    if (&p != &peer && p.greeted && p.role == peer.role && p.trainer == peer.trainer &&
        p.connection->open())
      old.push_back(&p);
  for (Peer* p : old) p->connection->close("the trainer has connected anew");
}

void Shard::welcome(Peer& peer, uint64_t id) {
  const bool trainer = peer.role != wire::Role::observer;
  wire::Welcome out{.instance = instance_,
                    .epoch = epoch_,
                    .state = state_,
                    .trainer = peer.trainer,
                    .init = init_,
                    .configured_by = configured_by_,
                    .snapshots = snapshots_ ? snapshots_->steps() : std::vector<uint64_t>{}};
  if (store_ && state_ == wire::ShardState::ready)
    for (const Slice& s : store_->slices())
      out.slices.push_back({s.info().id, s.version(),
                            trainer && sync() && s.contributed(peer.trainer),
                            trainer ? s.steps_of(peer.trainer) : 0});
  if (trainer) {
    out.last_push = last_pushes_[peer.trainer];
    out.lost =
        options_.policy == LossPolicy::drop && (*members_)[peer.trainer].state == MemberState::lost;
  }
  peer.connection->send(id, out);
  touch(peer);
}

// "" where the trainer can join here; otherwise it has seen an old state and greets again.
std::string Shard::join_problem(const Peer& peer, const wire::Join& j) const {
  if (state_ != wire::ShardState::ready) return "this shard has no values yet";
  if (!sync()) return "";
  const bool drops = options_.policy == LossPolicy::drop;
  for (const Slice& s : store_->slices()) {
    if (drops && j.step < s.version() && (*members_)[peer.trainer].expired != 0)
      return text("trainer ", peer.trainer, " cannot join at step ", j.step,
                  ": the job has reached step ", s.version());
    if (!drops && !s.contributed(peer.trainer) && j.step > s.version())
      return text("trainer ", peer.trainer, " cannot join at step ", j.step, ": the slice '",
                  s.info().name, "' lacks its gradient of step ", s.version());
  }
  return "";
}

void Shard::join(Peer& peer, uint64_t id, const wire::Join& j) {
  if (j.epoch != epoch_)
    return fail(peer, id, Code::stale_epoch,
                text("the job is in epoch ", epoch_, ", not ", j.epoch, ": greet again"));
  const std::string why = join_problem(peer, j);
  if (!why.empty()) return fail(peer, id, Code::stale_epoch, why + ": greet again");
  const bool first = (*members_)[peer.trainer].state != MemberState::joined;
  members_->join(peer.trainer, j.step, Clock::now());
  if (first) log_info(text("port ", port(), ": ", peer.name(), " joined at step ", j.step));
  ack(peer, id);
  close_ready_rounds();  // under `drop` a later first round lets earlier ones close
}

void Shard::complete(Peer& peer, uint64_t id, const wire::Complete& c) {
  const Time now = Clock::now();
  if (c.phase == wire::Phase::finished) {
    members_->finish(peer.trainer, now);
    log_info(text("port ", port(), ": ", peer.name(), " has finished"));
  } else {
    members_->bye(peer.trainer, now);
  }
  // The others wait for it. Where trainer 0 says goodbye they must hear it at once: a pserver that
  // failed before they did would send them back to work without it.
  for (Peer& p : peers_)
    if (p.greeted && p.role == wire::Role::beat && p.connection->open()) send_beat_ack(p, 0, now);
  ack(peer, id);
  close_ready_rounds();
  arrived();  // the end of the job may end the connection
  check_done(now);
}

void Shard::beat(Peer& peer, uint64_t id, wire::Progress& progress) {
  const Time now = Clock::now();
  if (!members_->holds(peer.trainer, peer.incarnation) ||
      (*members_)[peer.trainer].expired == peer.incarnation)
    return fail(peer, id, Code::expired,
                text("trainer ", peer.trainer, " was lost, or another process has its id now"));
  members_->heard(peer.trainer, now);
  wire::Progress& p = progress_[peer.trainer];
  p = std::move(progress);
  p.state = p.state.substr(0, max_name);
  p.error = p.error.substr(0, 4096);
  if (!p.error.empty() && (*members_)[peer.trainer].last_words != p.error) {
    (*members_)[peer.trainer].last_words = p.error;
    note_error(text(peer.name(), ": ", p.error));
  }
  send_beat_ack(peer, id, now);
}

void Shard::send_beat_ack(Peer& peer, uint64_t id, Time now) {
  peer.connection->send(id, wire::BeatAck{.epoch = epoch_,
                                          .waiting = waiting_text(now),
                                          .finished = members_->finished(),
                                          .failure = members_->failure(),
                                          .saved = members_->saved()});
  touch(peer);
}

}  // namespace paddle
