// Joining a job, for the first time and after anything broke.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "io/program_buffer.h"
#include "trainer/ps_wait.h"

namespace paddle {
namespace {

constexpr int max_recoveries = 100;       // without a step between them
constexpr size_t value_chunk = 4u << 20;  // bytes of one SetValue or Fetch

// Where a variable of a shard comes from in the scope: the whole of it, or the rows of a slice.
struct Origin {
  std::string name;  // in the shard's program
  Tensor tensor;     // shares the scope's memory
};

// Every variable that the shard keeps, with its memory here: the rows of slices and of their
// optimizer state, and what all slices share.
std::vector<Origin> origins(const Cut& cut, size_t shard, const Scope& scope) {
  std::vector<Origin> out;
  const auto rows = [&](const std::string& name, const std::string& source, const SliceSpec& s) {
    const Tensor& whole = scope.tensor(source);
    const Var& there = cut.pservers[shard].global().var(name);
    out.push_back({name, whole.shape() == there.shape
                             ? whole
                             : whole.rows(s.first_row, s.first_row + s.shape[0])});
  };
  for (const SliceSpec& s : cut.slices) {
    if (s.shard != shard) continue;
    rows(s.name, s.param, s);
    for (const std::string& state : s.states) rows(state, state, s);
  }
  for (const std::string& name : cut.shared)
    if (cut.pservers[shard].global().find(name)) out.push_back({name, scope.tensor(name)});
  return out;
}

uint64_t hash_bytes(const Tensor& t, uint64_t h) {
  const auto* bytes = static_cast<const std::byte*>(t.raw());
  const size_t n = t.bytes();
  for (size_t i = 0; i + 8 <= n; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    h = (h ^ word) * 0x100000001b3ull + (h >> 29);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes + n / 8 * 8, n % 8);
  return mix64(h ^ tail ^ (uint64_t{n} << 32));
}

}  // namespace

std::string PsClient::initial_digest() {
  uint64_t h = 0;
  for (size_t shard = 0; shard < links_.size(); ++shard)
    for (const Origin& o : origins(cut_, shard, scope_))
      h = hash_bytes(o.tensor, h ^ hash_text(o.name));
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}

void PsClient::check_links() {
  for (const auto& link : links_) {
    if (!link->broken()) continue;
    const std::string who = "pserver " + link->endpoint().text();
    if (const auto& f = link->failure()) {
      switch (f->code) {
        case msg::FailureCode::refused:
          throw Error(Error::Kind::config, who, " refused: ", f->message);
        case msg::FailureCode::job_failed:
          throw Error(Error::Kind::peer, "the job ended: ", f->message);
        case msg::FailureCode::not_finite: throw Error(Error::Kind::numeric, who, ": ", f->message);
        case msg::FailureCode::protocol:
          throw Error(Error::Kind::protocol, who,
                      " does not understand this trainer: ", f->message);
        case msg::FailureCode::expired: lost_id_ = true; break;
        default: break;
      }
    }
    throw Disrupted{who + ": " + link->trouble()};
  }
}

std::string PsClient::pending_text() const {
  for (const SliceLine& line : lines_) {
    if (!line.awaited) continue;
    const std::string at = text("pserver ", links_[line.spec->shard]->endpoint().text(), " (",
                                line.spec->name, ", step ", step_, ")");
    const std::string others = heartbeat_ ? heartbeat_->news().waiting : "";
    return others.empty() ? at : text(at, ", which waits for ", others);
  }
  return "nothing";
}

// Until the first `count` shards have greeted back. Those that cannot be reached are named; the
// first refusal ends the trainer.
void PsClient::wait_for_greetings(size_t count) {
  WaitVoice voice;
  const auto missing = [&]() -> ShardLink* {
    for (size_t i = 0; i < count; ++i)
      if (links_[i]->greeting() == nullptr) return links_[i].get();
    return nullptr;
  };
  while (ShardLink* link = missing()) {
    io_.run_one_for(std::chrono::milliseconds(200));
    io_.poll();
    for (const auto& l : std::span(links_).first(count)) {
      if (!l->broken()) continue;
      if (l->failure() && (l->failure()->code == msg::FailureCode::refused ||
                           l->failure()->code == msg::FailureCode::job_failed))
        check_links();
      if (l->failure() && l->failure()->code == msg::FailureCode::expired)
        throw Disrupted{l->trouble()};
      l->greet(options_.hello);
    }
    const auto who = [&] {
      return text("pserver ", link->endpoint().text(), ": ", link->trouble());
    };
    voice.speak(who);
    require(stop_signal() == 0, Error::Kind::peer, "stopped while waiting for ", who());
    require(voice.seconds() < options_.peer_timeout, Error::Kind::peer, "gave up waiting for ",
            who(), " (", static_cast<int>(voice.seconds()),
            " s; --peer_timeout sets how long): is the pserver running, and is its address right?");
  }
}

// Where slices land: first values may come into new memory.
void PsClient::locate() {
  for (const SliceSpec& s : cut_.slices) {
    const Tensor& t = scope_.tensor(s.param);
    lines_[static_cast<size_t>(&s - cut_.slices.data())].value =
        static_cast<std::byte*>(t.raw()) +
        static_cast<size_t>(s.first_element()) * size_of(s.dtype);
  }
}

Rewind PsClient::join(uint64_t first_step) {
  first_step_ = first_step;
  locate();
  init_ = initial_digest();
  if (!heartbeat_) {
    RandomStream random(static_cast<uint64_t>(wire::Clock::now().time_since_epoch().count()),
                        static_cast<uint64_t>(::getpid()));
    options_.hello.incarnation = random.bits(0) | 1;
  }
  return join_once(first_step);
}

// The first shard assigns an id to a trainer that was started without one; the others hear that id.
void PsClient::take_id() {
  const auto others = std::span(links_).subspan(1);
  for (const auto& link : others) link->hang_up();
  links_[0]->greet(options_.hello);
  wait_for_greetings(1);
  options_.hello.trainer = links_[0]->greeting()->trainer;
  options_.hello.takes_id = false;
}

Rewind PsClient::join_once(uint64_t first_step) {
  WaitVoice voice;
  std::string said;
  for (int tries = 0;; ++tries) {
    // What does not work at once is not asked a thousand times a second.
    if (tries > 5) io_.run_for(std::chrono::milliseconds(20 << std::min(tries - 5, 5)));
    try {
      if (options_.hello.takes_id) take_id();
      for (const auto& link : links_) link->greet(options_.hello);
      wait_for_greetings(links_.size());
      std::vector<Greeting> greetings;
      for (const auto& link : links_) greetings.push_back(*link->greeting());
      if (!heartbeat_) heartbeat_ = std::make_unique<Heartbeat>(options_.shards, options_.hello);
      const JoinDecision d = decide(greetings, {.mode = options_.hello.mode,
                                                .init = init_,
                                                .first_step = first_step,
                                                .margin = margin_});
      if (!d.why.empty() && d.why != said) log_warn(d.why);
      said = d.why;
      switch (d.action) {
        case JoinDecision::Action::configure: configure(d); break;
        case JoinDecision::Action::rollback: roll_back(d); break;
        case JoinDecision::Action::join: enter(d); return {d.step, d.place, ""};
        case JoinDecision::Action::wait:
          require(voice.seconds() < options_.peer_timeout, Error::Kind::peer, "gave up after ",
                  static_cast<int>(voice.seconds()), " s: ", d.why);
          io_.run_one_for(std::chrono::milliseconds(100));
      }
    } catch (const Disrupted& broken) {
      log_detail(1, broken.why);
      // The job went on while a dropped trainer tried to catch up: aim further ahead.
      if (links_[0]->greeting() && links_[0]->greeting()->lost) margin_ = margin_ * 2 + 1;
      if (lost_id_) {
        options_.hello.incarnation = mix64(options_.hello.incarnation) | 1;
        heartbeat_ = std::make_unique<Heartbeat>(options_.shards, options_.hello);
        lost_id_ = false;
      }
      require(voice.seconds() < options_.peer_timeout, Error::Kind::peer, "gave up after ",
              static_cast<int>(voice.seconds()), " s: ", broken.why);
    }
  }
}

// All shards are ready: rounds from d.step on wait for this trainer, and the values of that step
// come.
void PsClient::enter(const JoinDecision& d) {
  epoch_ = d.epoch;
  request({}, "to let this trainer join", [&](ShardLink& link, uint64_t id) {
    auto& b = link.connection().builder();
    link.connection().send(id, msg::CreateJoin(b, epoch_, d.step));
  });
  for (SliceLine& line : lines_) {
    wire::Connection& c = links_[line.spec->shard]->connection();
    const uint64_t version = options_.hello.mode == msg::Mode::sync ? d.step : 0;
    c.send(0, msg::CreatePull(c.builder(), line.id, version, epoch_));
    line.awaited = true;
    line.merged = 0;
    line.version = 0;
  }
  step_ = d.step;
  wait([&] { return pending_text(); },
       [&] {
         return std::none_of(lines_.begin(), lines_.end(), [](auto& l) { return l.awaited; });
       });
  if (options_.geo_steps > 0)
    for (SliceLine& line : lines_) {
      line.old = line.incoming;
      std::memcpy(line.value, line.incoming.data(), static_cast<size_t>(line.spec->bytes()));
    }
  margin_ = 0;
  joined_once_ = true;
}

void PsClient::configure(const JoinDecision& d) {
  // Async goes on with the values of now; sync starts again, with the bits that it began with.
  if (joined_once_ && options_.hello.mode == msg::Mode::sync) {
    first_values_();
    locate();
  }
  if (d.reset) {
    log_warn(text("all go back to step ", d.step,
                  ": start pservers with --snapshot_dir to go back less after a crash"));
  }
  for (const size_t shard : d.shards) {
    const std::vector<Origin> values = origins(cut_, shard, scope_);
    request({shard}, "to take its first values", [&](ShardLink& link, uint64_t id) {
      wire::Connection& c = link.connection();
      auto& b = c.builder();
      std::vector<flatbuffers::Offset<msg::Slice>> slices;
      for (const SliceLine& l : lines_)
        if (l.spec->shard == shard)
          slices.push_back(msg::CreateSlice(b, l.id, b.CreateString(l.spec->name),
                                            b.CreateString(l.spec->merged_grad), l.spec->block));
      std::vector<flatbuffers::Offset<msg::Variable>> variables;
      for (const Origin& o : values) {
        std::vector<int64_t> dims(o.tensor.shape().begin(), o.tensor.shape().end());
        variables.push_back(msg::CreateVariable(b, b.CreateString(o.name),
                                                static_cast<uint8_t>(o.tensor.dtype()),
                                                b.CreateVector(dims)));
      }
      const std::string program = to_flatbuffer(cut_.pservers[shard]);
      const auto bytes =
          b.CreateVector(reinterpret_cast<const uint8_t*>(program.data()), program.size());
      const auto all_slices = b.CreateVector(slices);
      const auto all_variables = b.CreateVector(variables);
      const auto init = b.CreateString(init_);
      c.send(0, msg::CreateConfigure(b, d.epoch, d.step, d.reset, init, bytes, all_slices,
                                     all_variables));
      for (size_t i = 0; i < values.size(); ++i) {
        const wire::Bytes all{static_cast<const std::byte*>(values[i].tensor.raw()),
                              values[i].tensor.bytes()};
        for (size_t at = 0; at == 0 || at < all.size(); at += value_chunk) {
          const wire::Bytes part = all.subspan(at, std::min(value_chunk, all.size() - at));
          const bool last = i + 1 == values.size() && at + part.size() == all.size();
          c.send(last ? id : 0,
                 msg::CreateSetValue(c.builder(), d.epoch, static_cast<uint32_t>(i), at, last),
                 part);
        }
      }
    });
  }
}

void PsClient::roll_back(const JoinDecision& d) {
  log_warn(text("all pservers go back to step ", d.step));
  request(d.shards, "to go back", [&](ShardLink& link, uint64_t id) {
    auto& b = link.connection().builder();
    link.connection().send(id, msg::CreateRollback(b, d.epoch, d.step));
  });
}

void PsClient::recover(const Disrupted& broken) {
  require(++recoveries_ <= max_recoveries, Error::Kind::peer, "gave up after ", max_recoveries,
          " recoveries in step ", step_, ": ", broken.why);
  log_warn(text(broken.why, "; waiting for it to return"));
  Rewind to = join_once(first_step_);
  to.why = broken.why;
  log_info(text("all pservers are back: going on with step ", to.step));
  throw to;
}

void PsClient::collect() {
  guarded([&] {
    for (size_t shard = 0; shard < links_.size(); ++shard)
      for (const Origin& o : origins(cut_, shard, scope_))
        for (size_t at = 0; at < o.tensor.bytes(); at += value_chunk) {
          const size_t n = std::min(value_chunk, o.tensor.bytes() - at);
          ShardLink& link = *links_[shard];
          if (!link.open()) throw Disrupted{link.trouble()};
          auto* to = static_cast<std::byte*>(o.tensor.raw()) + at;
          const uint64_t id = link.expect_ack({to, n});
          auto& b = link.connection().builder();
          link.connection().send(id, msg::CreateFetch(b, b.CreateString(o.name), at, n));
          wait(
              [&] {
                return text("the values of '", o.name, "' from pserver ", link.endpoint().text());
              },
              [&] { return link.acked(id); });
        }
  });
}

}  // namespace paddle
