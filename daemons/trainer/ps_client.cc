#include "trainer/ps_client.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/run_main.h"
#include "trainer/ps_wait.h"

namespace paddle {

PsClient::PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
                   std::function<void()> first_values)
    : cut_(cut),
      scope_(scope),
      options_(options),
      first_values_(std::move(first_values)),
      work_(io_.get_executor()),
      spin_(options.spin_microseconds) {
  for (size_t i = 0; i < options_.shards.size(); ++i)
    links_.push_back(std::make_unique<ShardLink>(io_, static_cast<LinkOwner&>(*this),
                                                 options_.shards[i], static_cast<uint32_t>(i)));
  param_lines_.resize(cut.params.size());
  for (size_t i = 0; i < cut.slices.size(); ++i) {
    const SliceSpec& s = cut.slices[i];
    lines_.push_back({.spec = &s, .id = static_cast<uint32_t>(i)});
    param_lines_[static_cast<size_t>(s.param_index)].push_back(i);
    if (!staged()) continue;
    require(s.dtype == DType::f32, Error::Kind::config,
            "async and geo need float32 parameters, but '", s.param, "' is ", name_of(s.dtype));
    const auto n = static_cast<size_t>(s.elements());
    lines_.back().sending.resize(n);
    lines_.back().incoming.resize(n);
    (options_.geo_steps > 0 ? lines_.back().old : lines_.back().waiting).resize(n);
  }
}

PsClient::~PsClient() {
  for (const auto& link : links_) link->hang_up();
}

bool PsClient::staged() const {
  return options_.hello.mode == wire::Mode::async || options_.hello.mode == wire::Mode::geo;
}

// ---- what comes in

std::span<std::byte> PsClient::values_land(uint32_t slice, uint64_t bytes) {
  require(slice < lines_.size() && lines_[slice].awaited, Error::Kind::protocol,
          "it sent values of slice ", slice, " that nobody asked for");
  SliceLine& line = lines_[slice];
  require(bytes == static_cast<uint64_t>(line.spec->bytes()), Error::Kind::protocol, "it sent ",
          bytes, " bytes for '", line.spec->name, "', which has ", line.spec->bytes());
  std::byte* to = staged() ? reinterpret_cast<std::byte*>(line.incoming.data()) : line.value;
  return {to, static_cast<size_t>(bytes)};
}

void PsClient::values_came(uint32_t slice, uint64_t version, bool dropped) {
  require(slice < lines_.size() && lines_[slice].awaited, Error::Kind::protocol,
          "it sent values of slice ", slice, " that nobody asked for");
  SliceLine& line = lines_[slice];
  line.awaited = line.unanswered = false;
  line.version = version;
  if (dropped) ++dropped_;
  if (options_.hello.mode == wire::Mode::async) {
    std::memcpy(line.value, line.incoming.data(), static_cast<size_t>(line.spec->bytes()));
    if (line.merged > 0) send_waiting(line);
  }
}

// ---- a step

void PsClient::begin_step(uint64_t step, const wire::Position& begin, const wire::Position& end) {
  step_ = next_step_ = step;
  begin_ = begin;
  end_ = end;
  next_place_ = begin;
  if (options_.hello.mode != wire::Mode::async) return;
  guarded([&] {
    io_.poll();  // whatever has come is used from here on
    check_links();
    wait([&] { return pending_text(); },
         [&] {
           return std::all_of(lines_.begin(), lines_.end(),
                              [&](const SliceLine& l) { return l.merged < options_.queue_size; });
         });
  });
}

void PsClient::send_push(SliceLine& line, uint64_t step, wire::Bytes bulk, wire::Bulk lifetime) {
  ShardLink& link = *links_[line.spec->shard];
  line.awaited = line.unanswered = true;
  line.sent_step = step;
  if (!link.open()) return;  // found out, and mended, where the answer is awaited
  const wire::PushPart part{std::min(line.based_on, line.version), line.id, 0};
  const wire::Push push{.step = step,
                        .epoch = epoch_,
                        .begin = begin_,
                        .end = end_,
                        .pull = true,
                        .parts = {&part, 1}};
  link.connection().send(0, push, bulk, lifetime);
}

void PsClient::push(int32_t param, const View& grad, uint64_t step) {
  for (const size_t i : param_lines_[static_cast<size_t>(param)]) {
    SliceLine& line = lines_[i];
    const auto* from = static_cast<const std::byte*>(grad.data) +
                       static_cast<size_t>(line.spec->first_element()) * size_of(line.spec->dtype);
    if (options_.hello.mode == wire::Mode::async) {
      push_async(line, reinterpret_cast<const float*>(from), step);
      continue;
    }
    line.based_on = line.version;
    send_push(line, step, {from, static_cast<size_t>(line.spec->bytes())}, wire::Bulk::stays);
  }
  if (options_.hello.mode == wire::Mode::async) move_bytes();
}

void PsClient::end_step() {
  recoveries_ = 0;
  next_step_ = step_ + 1;
  next_place_ = end_;
  for (const auto& link : links_)
    if (link->open()) link->connection().flush();
  if (options_.geo_steps > 0 && (step_ + 1) % options_.geo_steps == 0)
    guarded([&] { exchange_geo(); });
}

void PsClient::pull(int32_t param, const View&, uint64_t step) {
  if (options_.hello.mode == wire::Mode::async) return move_bytes();
  const bool exact = options_.hello.mode == wire::Mode::sync;
  const auto& own = param_lines_[static_cast<size_t>(param)];
  const auto there = [&] {
    return std::none_of(own.begin(), own.end(), [&](size_t i) {
      return lines_[i].awaited || (exact && lines_[i].version < step);
    });
  };
  if (there()) return;
  guarded([&] { wait([&] { return pending_text(); }, there); });
}

// ---- async: at most one push of a slice is on its way; what is made meanwhile is merged

// Nothing is waited for, so the sockets get their turn while a step is computed: else an exchange
// would last several steps. So a weight may be newer on the way back than it was on the way
// forward. What breaks is found, and mended, at the beginning of the next step.
void PsClient::move_bytes() {
  for (const auto& link : links_)
    if (link->open()) link->connection().flush();
  io_.poll();
}

void PsClient::push_async(SliceLine& line, const float* grad, uint64_t step) {
  const auto n = static_cast<size_t>(line.spec->elements());
  if (line.merged == 0) {
    std::copy_n(grad, n, line.waiting.data());
    line.based_on = line.version;
  } else {
    for (size_t k = 0; k < n; ++k) line.waiting[k] += grad[k];
  }
  ++line.merged;
  line.last_step = step;
  if (!line.awaited) send_waiting(line);
}

void PsClient::send_waiting(SliceLine& line) {
  line.sending.swap(line.waiting);
  if (options_.merge_mean && line.merged > 1)
    for (float& g : line.sending) g /= static_cast<float>(line.merged);
  send_push(line, line.last_step, std::as_bytes(std::span(line.sending)), wire::Bulk::stays);
  line.merged = 0;
}

// ---- geo: every trainer moves by itself; differences are exchanged

void PsClient::exchange_geo() {
  const auto n = static_cast<float>(options_.hello.trainers);
  for (SliceLine& line : lines_) {
    const auto* now = reinterpret_cast<const float*>(line.value);
    for (size_t k = 0; k < line.old.size(); ++k) {
      line.sending[k] = (now[k] - line.old[k]) / n;
      line.old[k] += line.sending[k];
    }
    line.based_on = line.version;
    send_push(line, step_, std::as_bytes(std::span(line.sending)), wire::Bulk::stays);
  }
  for (const auto& link : links_)
    if (link->open()) link->connection().flush();
  wait([&] { return pending_text(); },
       [&] {
         return std::none_of(lines_.begin(), lines_.end(), [](auto& l) { return l.awaited; });
       });
  for (SliceLine& line : lines_) {
    auto* now = reinterpret_cast<float*>(line.value);
    for (size_t k = 0; k < line.old.size(); ++k) {
      now[k] += line.incoming[k] - line.old[k];
      line.old[k] = line.incoming[k];
    }
  }
}

// ---- outside steps

void PsClient::refresh(uint64_t step) {
  if (options_.hello.mode == wire::Mode::geo) return;
  guarded([&] {
    wait([&] { return pending_text(); },
         [&] {
           return std::none_of(lines_.begin(), lines_.end(), [&](const SliceLine& l) {
             return l.awaited || l.merged > 0 ||
                    (options_.hello.mode == wire::Mode::sync && l.version < step);
           });
         });
  });
}

void PsClient::finish(uint64_t step) {
  guarded([&] {
    if (options_.geo_steps > 0) {
      step_ = step;
      exchange_geo();
    }
    refresh(step);
    request({}, "to hear that this trainer has finished", [](ShardLink& link, uint64_t id) {
      link.connection().send(id, wire::Complete{wire::Phase::finished});
    });
    finished_ = true;
  });
}

void PsClient::wait_for_others() {
  guarded([&] {
    wait([&] { return "the other trainers to finish; " + heartbeat_->news().waiting; },
         [&] { return present_news().finished >= options_.hello.trainers; });
  });
}

// What the shards say of this epoch; nothing where they have said nothing of it yet.
ShardNews PsClient::present_news() const {
  const ShardNews news = heartbeat_->news();
  require(news.failure.empty(), Error::Kind::peer, "the job ended: ", news.failure);
  return news.epoch == epoch_ ? news : ShardNews{};
}

void PsClient::wait_for_save() {
  if (trainer() == 0) return;
  guarded([&] {
    const auto saved = [&] { return present_news().saved; };
    try {
      wait([&] { return "trainer 0 to save; " + heartbeat_->news().waiting; }, saved);
    } catch (const Disrupted&) {  // a pserver that failed afterwards concerns nobody any more
      if (!saved()) throw;
    }
  });
}

void PsClient::say_bye() {
  try {
    request({}, "to say goodbye", [](ShardLink& link, uint64_t id) {
      link.connection().send(id, wire::Complete{wire::Phase::bye});
    });
  } catch (const Disrupted&) {  // a pserver that has heard it from all may be gone already
  }
}

}  // namespace paddle
