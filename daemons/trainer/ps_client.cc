#include "trainer/ps_client.h"

#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/random.h"
#include "trainer/ps_values.h"
#include "trainer/tcp_links.h"

namespace paddle {
namespace {

constexpr int max_recoveries = 100;  // without a step between them
constexpr std::chrono::seconds deliver_limit{5};

// A new incarnation, unless the caller gave one: shards tell this process from one that had the
// same id before.
wire::Hello with_incarnation(wire::Hello hello) {
  if (hello.incarnation != 0) return hello;
  const RandomStream random(static_cast<uint64_t>(Clock::now().time_since_epoch().count()),
                            static_cast<uint64_t>(::getpid()));
  hello.incarnation = random.bits(0) | 1;
  return hello;
}

ExchangeOptions exchange_options(const PsOptions& o, const Cut& cut) {
  const bool adds = o.hello.mode == wire::Mode::async || o.hello.mode == wire::Mode::geo;
  for (const SliceSpec& s : cut.slices)
    require(!adds || s.dtype == DType::f32, Error::Kind::config,
            "async and geo need float32 parameters, but '", s.param, "' is ", name_of(s.dtype));
  const bool sync = o.hello.mode == wire::Mode::sync;
  require(o.row_cache.bytes == 0 || o.hello.mode == wire::Mode::async ||
              o.hello.mode == wire::Mode::half_async,
          Error::Kind::config, "row_cache is given, but a trainer in ",
          sync ? "sync computes with the rows of exactly its step"
               : "geo keeps its rows anyway (geo_memory)",
          ": leave row_cache away, or choose async or half_async");
  return {.mode = o.hello.mode,
          .trainers = o.hello.trainers,
          .queue_size = o.queue_size,
          .merge_mean = o.merge_mean,
          .merge_memory = o.merge_memory,
          .geo_steps = o.geo_steps,
          .geo_memory = o.geo_memory,
          .rows_ahead = o.rows_ahead,
          .row_cache = o.row_cache};
}

// Before values arrive that no pull of a plan takes, or are read by anybody but a plan: they are in
// the host's memory, and a plan on a GPU reads them there next.
void take_params(const std::vector<const Variable*>& params) {
  for (const Variable* v : params) take_to_host(*v);
}

// Whether geo exchanges parameters behind this step.
bool exchanges_after(const PsOptions& o, uint64_t step) {
  return o.geo_steps > 0 && (step + 1) % o.geo_steps == 0;
}

}  // namespace

PsClient::PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
                   std::function<void()> first_values)
    : PsClient(cut, scope, options, std::move(first_values),
               std::make_unique<TcpLinks>(options.shards, options.credentials, options.peer_timeout,
                                          options.spin_microseconds, options.shared_memory)) {}

PsClient::PsClient(const Cut& cut, Scope& scope, const PsOptions& options,
                   std::function<void()> first_values, std::unique_ptr<Links> links)
    : StepExchange(cut, exchange_options(options, cut), std::move(links)),
      cut_(cut),
      scope_(scope),
      options_(options),
      driver_({.cut = cut,
               .scope = scope,
               .layout = layout_,
               .links = *links_,
               .exchange = *exchange_,
               .rows = rows_,
               .first_values =
                   [this, first = std::move(first_values)] {
                     first();
                     locate();
                   }},
              with_incarnation(options.hello), options.peer_timeout),
      end_(*links_, driver_, options.peer_timeout) {}

// ---- joining

void PsClient::locate() {
  std::vector<std::byte*> params;
  params_.clear();
  for (const ParamGrad& p : cut_.params) {
    params.push_back(static_cast<std::byte*>(scope_.tensor(p.param).raw()));
    params_.push_back(scope_.find(p.param));
  }
  exchange_->locate(params);
}

Rewind PsClient::join(uint64_t first_step) {
  first_step_ = first_step;
  locate();
  init_ = digest_of_values(cut_, scope_);
  return rejoin();
}

Rewind PsClient::rejoin() {
  take_params(params_);
  const JoinDecision& d = driver_.run(init_, first_step_, end_.joins());
  if (d.action == JoinDecision::Action::over) return {.why = "the job has ended", .over = true};
  steps_.join(d.step, d.place);
  repeat_tallies();
  report_lost();
  const bool place_lost = options_.hello.mode != wire::Mode::sync && !steps_.any() &&
                          (d.unknown_steps || (!d.place && d.step != first_step_));
  const bool strange = exchange_->updates().take_strange() && steps_.any();
  const std::string there =
      text("; the values there have had about ", driver_.updates_since(first_step_), " updates");
  if (place_lost)
    log_warn(
        "a pserver came back empty and has lost this trainer's place in its data: the trainer "
        "goes on from the place that other pservers have, or from the beginning, and "
        "may apply gradients again" +
        there);
  if (strange)
    log_warn(
        "the values of a pserver come from processes that this trainer never joined: if it was "
        "started again, gradients that it pushed before that may count twice" +
        there);
  return {d.step, d.place, "", place_lost || strange};
}

// Where everybody goes on although something is missing.
void PsClient::report_lost() {
  const auto report = [&](std::span<const uint64_t> lost, LostReport& logged, const auto& part) {
    for (const LostReport::Line& line :
         logged.take(lost, [&](size_t i) { return part(i).shard; })) {
      const auto [name, shard] = part(line.slice);
      log_warn(text("up to ", line.more, " updates of '", name, "' were lost with pserver ",
                    (*links_)[shard].endpoint(),
                    ": they came after its last snapshot (--snapshot_dir, --snapshot_period); ",
                    line.all, " since this trainer began"));
    }
  };
  report(exchange_->updates().lost(), logged_lost_, [&](size_t i) {
    return RowExchange::Awaited{layout_.names[i], layout_.slices[i].shard};
  });
  report(rows_.lost(), logged_rows_, [&](size_t i) { return rows_.part_text(i); });
}

void PsClient::recover(const Disrupted& broken) {
  require(++recoveries_ <= max_recoveries, Error::Kind::peer, "gave up after ", max_recoveries,
          " recoveries in step ", steps_.range().step, ": ", broken.why);
  log_warn(text(broken.why, "; waiting for it to return"));

  Rewind to = rejoin();
  if (to.over) throw to;
  const bool repeats =
      exchange_->manner() == ParamExchange::Manner::repeats_steps && driver_.decision().knows_step;
  steps_.place(to, repeats, options_.hello.mode != wire::Mode::sync, first_step_);
  exchange_->updates().goes_on(to.step);
  rows_.goes_on(to.step);
  report_lost();
  to.why = broken.why;
  log_info(text("all pservers are back: going on with step ", to.step));
  throw to;
}

// What breaks in `body` is mended, and ends in Rewind.
template <class Body>
void PsClient::guarded(const Body& body) {
  try {
    body();
  } catch (const Disrupted& broken) {
    recover(broken);
  }
}

// For the values of slices.
template <class Done>
void PsClient::wait(const Done& done) {
  links_->wait(
      [&] { return awaited_text(*exchange_, rows_, layout_, *links_, steps_.range().step); }, done,
      [&] { return end_.check(); });
}

// ---- a step

void PsClient::begin_step(uint64_t step, const wire::Position& begin, const wire::Position& end) {
  steps_.begin({step, begin, end});
  end_.goes_on();
  exchange_->begin_step(steps_.range());
  rows_.begin_step(steps_.range());
  if (geo_) geo_->begin_step(step);
  if (!streams_) return;
  guarded([&] {
    links_->poll();  // whatever has come is used from here on
    driver_.check();
    wait([&] { return exchange_->may_begin(); });
  });
}

void PsClient::await(const Condition& done) {
  guarded([&] { wait(done); });
}

void PsClient::end_step() {
  recoveries_ = 0;
  steps_.end();
  if (exchanges_after(options_, steps_.range().step)) take_params(params_);
  const bool exchanges = exchange_->end_step();
  const bool sends_rows = geo_ && geo_->end_step();
  if (sends_rows) guarded([&] { send_rows(); });
  rows_.end_step();
  links_->flush();
  if (exchanges || sends_rows)
    guarded([&] {
      wait([&] { return exchange_->none_awaited() && rows_.settled(steps_.range().step); });
    });
}

// Geo: differences of rows to the shards, under the step at hand.
void PsClient::send_rows() {
  wait([&] { return rows_.may_push(); });
  const StepRange range = steps_.range();
  if (!geo_->sends(range.step)) return;
  rows_.begin_step(range);
  for (int32_t t = 0; t < static_cast<int32_t>(geo_->tables()); ++t) {
    const GeoRows::Differences d = geo_->differences(t);
    rows_.push(t, d.ids, d.values);
  }
  geo_->exchanged(range.step);
  if (const uint64_t rows = geo_->take_forgotten(range.step))
    log_warn(text("up to step ", range.step, " this trainer has forgotten ", rows,
                  " more rows with the state of their optimizer, which begins anew: its rows need "
                  "more than --geo_memory"));
}

// Between two steps, so that what is saved has the rows as this trainer made them.
void PsClient::exchange_rows() {
  if (!geo_ || !geo_->changed()) return;
  guarded([&] {
    send_rows();
    wait([&] { return rows_.settled(steps_.range().step); });
  });
}

// ---- outside steps

void PsClient::refresh(uint64_t step) {
  take_params(params_);
  guarded([&] { wait([&] { return exchange_->settled(step) && rows_.settled(step); }); });
  rows_.requests().read_at(step);
}

std::optional<uint64_t> PsClient::collect() {
  std::optional<uint64_t> step;
  exchange_rows();
  // Geo: the optimizer's state is here, and so are the values that training goes on with. Those of
  // the shards are the result once this trainer has finished.
  const WaitUntil wait_until = [&](const auto& what, const auto& done) {
    links_->wait(what, done, [&] { return end_.check(); });
  };
  if (options_.hello.mode == wire::Mode::geo) {
    take_params(params_);
    guarded([&] {
      if (end_.finished()) exchange_->pull_all();
      wait([&] { return exchange_->none_awaited(); });
      collect_arrays(*links_, cut_, scope_, driver_.epoch(), wait_until, false);
    });
    return {};
  }
  guarded([&] { step = collect_values(*links_, cut_, scope_, driver_.epoch(), wait_until); });
  return step;
}

void PsClient::save_table(const std::string& param, const TableWriter::Sink& sink) {
  const std::vector<TableSpec>& tables = cut_.trainer.tables;
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [&](const TableSpec& t) { return t.param == param; });
  require(table != tables.end(), Error::Kind::config, "the pservers keep no table '", param, "'");
  exchange_rows();
  guarded([&] {
    collect_table(*links_, cut_, static_cast<size_t>(table - tables.begin()), driver_.epoch(), sink,
                  [&](const auto& what, const auto& done) {
                    links_->wait(what, done, [&] { return end_.check(); });
                  });
  });
}

// Where steps are repeated, the next process computes this one again.
void PsClient::deliver() {
  if (!steps_.any() || exchange_->manner() == ParamExchange::Manner::repeats_steps) return;
  const auto delivered = [&] {
    end_.check();
    return exchange_->settled(steps_.range().step) && rows_.settled(steps_.range().step);
  };
  try {
    if (links_->wait_briefly(delivered, deliver_limit)) return;
  } catch (const Disrupted&) {
  } catch (const Rewind&) {
  }
  log_warn(
      "stopped before the pservers had taken all gradients; the next process of this trainer "
      "says how many are missing");
}

void PsClient::finish(uint64_t step) {
  end_.reached();
  take_params(params_);
  guarded([&] {
    steps_.end_of_data(step);
    if (geo_) send_rows();
    if (exchange_->finish(steps_.range())) wait([&] { return exchange_->none_awaited(); });
    refresh(step);
    end_.finish();
  });
  rows_.requests().read_at(wire::any_version);  // others may go on
}

void PsClient::say_bye() {
  end_.leave();
  if (const uint64_t ahead = rows_.requests().ahead(); ahead > 0)
    log_detail(1, text("rows of ", ahead, " batches were asked for before their step"));
}

void PsClient::wait_for_others() {
  guarded([&] { end_.wait_for_others(); });
}

void PsClient::wait_for_save() {
  guarded([&] { end_.wait_for_save(); });
}

}  // namespace paddle
