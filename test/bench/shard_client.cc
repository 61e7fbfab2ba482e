#include "bench/shard_client.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "bench/generator.h"
#include "exec/executor.h"
#include "io/program_buffer.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "support/connect.h"

namespace paddle::bench {
namespace {

constexpr float rate_of_sgd = 0.5f, gradient_value = 0x1p-10f;
constexpr std::chrono::seconds longest_wait{20};

wire::Hello hello() {
  wire::Hello out = wire::make_hello(wire::Role::trainer);
  out.job = out.program = "bench";
  out.incarnation = 1;
  return out;
}

}  // namespace

std::unique_ptr<Parameters> make_parameters(const std::vector<int64_t>& elements, int trainers,
                                            const std::string& optimizer) {
  auto out = std::make_unique<Parameters>();
  Net net;
  const Builder b(net);
  Names costs;
  for (size_t i = 0; i < elements.size(); ++i)
    costs.push_back(mean(b, create_parameter(b, {elements[i], 1}, {.name = text("p", 1000 + i)})));
  const std::string loss = mean(b, costs.size() > 1 ? concat(b, costs, 0) : costs[0]);
  if (optimizer == "sgd") minimize(b, loss, Optimizer("sgd", rate_of_sgd));
  if (optimizer == "adagrad") minimize(b, loss, Optimizer("adagrad", rate_of_sgd));
  if (optimizer == "adam") minimize(b, loss, Optimizer("adam", 0.001));
  out->cut = transpile(net.main, net.startup,
                       {.trainers = static_cast<uint32_t>(trainers), .slice_var_up = false});
  Executor().run(net.startup, out->scope);
  for (const SliceSpec& s : out->cut.slices) {
    const Tensor& t = out->scope.tensor(s.param);
    std::fill_n(t.data<float>(), t.numel(), 0.0f);
  }
  return out;
}

ShardClient::ShardClient(const std::string& endpoint, Parameters& parameters, bool spins,
                         const wire::Credentials& credentials)
    : spins_(spins) {
  for (const SliceSpec& s : parameters.cut.slices) {
    lines_.push_back({.gradient = Tensor(DType::f32, {s.elements()}),
                      .values = Tensor(DType::f32, {s.elements()})});
    std::fill_n(lines_.back().gradient.data<float>(), s.elements(), gradient_value);
  }
  connection_ =
      wire::Connection::start(connect_to(io_, wire::parse_endpoint(endpoint, "the pserver"),
                                         credentials, wire::purpose_of(hello())),
                              *this, false);
  connection_->send(0, hello());
  connection_->flush();
  while (!greeted_) turn();
  configure(parameters);
  ++asked_;
  connection_->send(1, wire::Join{epoch_, 0});
  wait(0);
}

ShardClient::~ShardClient() { connection_->close("the measurement is over"); }

void ShardClient::configure(const Parameters& parameters) {
  const Program& program = parameters.cut.pservers[0];
  wire::Configure c{.epoch = epoch_, .values_digest = "bench", .program = to_flatbuffer(program)};
  for (size_t i = 0; i < parameters.cut.slices.size(); ++i) {
    const SliceSpec& s = parameters.cut.slices[i];
    c.slices.push_back({static_cast<uint32_t>(i), s.name, s.merged_grad, s.block});
  }
  std::vector<Tensor> values;
  for (const auto& v : program.global().vars()) {
    const Variable* found = parameters.scope.find(v->name);
    if (!v->persistable || found == nullptr || found->tensor.empty()) continue;
    values.push_back(found->tensor);
    c.variables.push_back(
        {v->name, static_cast<uint8_t>(v->dtype), {v->shape.begin(), v->shape.end()}});
  }
  connection_->send(0, c);
  ++asked_;
  for (size_t i = 0; i < values.size(); ++i)
    connection_->send(1,
                      wire::SetValue{epoch_, static_cast<uint32_t>(i), 0, i + 1 == values.size()},
                      {static_cast<const std::byte*>(values[i].raw()), values[i].bytes()});
  wait(0);
}

wire::Landing ShardClient::land(wire::Connection&, const wire::Message& message, uint64_t bulk) {
  const auto* values = std::get_if<wire::Values>(&message.body);
  require(values != nullptr && values->parts.size() == 1 && values->parts[0].slice < lines_.size(),
          Error::Kind::protocol, "values that nobody asked for");
  const Tensor& to = lines_[values->parts[0].slice].values;
  require(to.bytes() == bulk, Error::Kind::protocol, "values of a wrong size");
  return wire::Landing::into({static_cast<std::byte*>(to.raw()), to.bytes()});
}

void ShardClient::handle(wire::Connection&, wire::Message& message, uint64_t) {
  if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
    epoch_ = welcome->epoch;
    greeted_ = true;
    return;
  }
  if (const auto* failure = std::get_if<wire::Failure>(&message.body)) {
    trouble_ = failure->message;
    return;
  }
  if (message.id != 0) ++answered_;
}

void ShardClient::closed(wire::Connection&, const std::string& why) {
  if (trouble_.empty()) trouble_ = why;
}

void ShardClient::turn() {
  if (spins_)
    io_.poll();
  else
    require(io_.run_one_for(longest_wait) > 0, Error::Kind::peer, "the pserver does not answer");
  require(trouble_.empty(), Error::Kind::peer, "the pserver: ", trouble_);
}

void ShardClient::ask(Ask what, size_t slice) {
  Line& line = lines_[slice];
  const auto id = static_cast<uint32_t>(slice);
  ++asked_;
  if (what == Ask::pull) {
    const wire::PullPart part{line.steps, id, 0};
    connection_->send(2, wire::Pull{epoch_, {&part, 1}});
    return;
  }
  const wire::PushPart part{0, id, 0};
  const wire::Push push{
      .step = line.steps++, .epoch = epoch_, .pull = what == Ask::push_pull, .parts = {&part, 1}};
  connection_->send(2, push,
                    {static_cast<const std::byte*>(line.gradient.raw()), line.gradient.bytes()});
}

void ShardClient::wait(size_t most) {
  connection_->flush();
  while (asked_ - answered_ > most) turn();
}

double ShardClient::rate(Ask what, size_t first, size_t count, size_t window, double secs) {
  const uint64_t before = answered_;
  const double start = seconds(), end = start + secs;
  for (size_t next = 0; seconds() < end;) {
    for (; asked_ - answered_ < window; next = (next + 1) % count) ask(what, first + next);
    wait(window - 1);
  }
  wait(0);
  return static_cast<double>(answered_ - before) / (seconds() - start);
}

std::vector<double> ShardClient::latencies(Ask what, size_t slice, size_t count) {
  std::vector<double> out;
  while (out.size() < count) {
    const double start = seconds();
    ask(what, slice);
    wait(0);
    out.push_back(seconds() - start);
  }
  return out;
}

void ShardClient::verify() {
  for (size_t i = 0; i < lines_.size(); ++i) {
    ask(Ask::pull, i);
    wait(0);
    const Line& l = lines_[i];
    // A sum of powers of two: exact.
    const double expected = -static_cast<double>(rate_of_sgd * gradient_value) * double(l.steps);
    for (const float value : l.values.values<float>())
      require(value == expected, Error::Kind::numeric, "parameter ", i, " holds ", value, " after ",
              l.steps, " steps, expected ", expected);
  }
}

}  // namespace paddle::bench
