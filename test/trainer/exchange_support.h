// A cut by hand and a network made of two lists: what an exchange sends is kept, what it shall get
// is put where it says.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "trainer/exchange.h"

namespace paddle::test {

// Parameters of these numbers of float elements, each in one slice, on the shards given.
inline Cut cut_by_hand(const std::vector<int64_t>& elements, const std::vector<size_t>& shards,
                       size_t shard_count) {
  Cut cut;
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string name = "p" + std::to_string(i);
    cut.params.push_back({name, name + "@GRAD"});
    cut.slices.push_back({.param = name,
                          .grad = name + "@GRAD",
                          .name = name,
                          .param_index = static_cast<int32_t>(i),
                          .shape = {elements[i]},
                          .shard = shards[i]});
  }
  cut.pservers.resize(shard_count);
  return cut;
}

class SentMessages : public ShardSender {
 public:
  struct Sent {
    uint32_t shard = 0;
    bool push = false;
    uint64_t step = 0, epoch = 0;
    std::vector<uint32_t> slices;
    std::vector<uint64_t> versions;  // of a pull; of a push what it was based on
    std::vector<float> bulk;
    wire::Position begin, end;  // of a push
    uint64_t id = 0;            // of the message
    std::vector<uint64_t> ids;  // of a pull of rows
  };
  void send(uint32_t shard, const wire::Push& push, std::span<const wire::Bytes> bulk) override {
    Sent s{.shard = shard, .push = true, .step = push.step, .epoch = push.epoch};
    s.begin = push.begin;
    s.end = push.end;
    for (const wire::PushPart& p : push.parts) {
      s.slices.push_back(p.slice);
      s.versions.push_back(p.based_on);
    }
    for (const wire::Bytes& piece : bulk) {
      const size_t at = s.bulk.size();
      s.bulk.resize(at + piece.size() / sizeof(float));
      std::memcpy(s.bulk.data() + at, piece.data(), piece.size());
    }
    messages.push_back(std::move(s));
  }
  void send(uint32_t shard, const wire::Pull& pull) override {
    Sent s{.shard = shard, .epoch = pull.epoch};
    for (const wire::PullPart& p : pull.parts) {
      s.slices.push_back(p.slice);
      s.versions.push_back(p.version);
    }
    messages.push_back(std::move(s));
  }
  void send(uint32_t shard, uint64_t id, const wire::PullRows& pull, wire::Bytes ids) override {
    Sent s{.shard = shard, .epoch = pull.epoch};
    s.id = id;
    s.slices.push_back(pull.slice);
    s.versions.push_back(pull.version);
    s.ids.resize(ids.size() / sizeof(uint64_t));
    std::memcpy(s.ids.data(), ids.data(), ids.size());
    messages.push_back(std::move(s));
  }
  std::vector<Sent> take() { return std::exchange(messages, {}); }
  std::vector<Sent> messages;
};

// A trainer's parameters and an exchange over them.
struct TestExchange {
  TestExchange(const Cut& cut, const ExchangeOptions& options, const GroupLimits& limits = {})
      : layout(cut, limits), exchange(make_exchange(layout, options, out)) {
    std::vector<std::byte*> at;
    for (const SliceSpec& s : cut.slices) values.emplace_back(static_cast<size_t>(s.elements()));
    for (auto& v : values) at.push_back(reinterpret_cast<std::byte*>(v.data()));
    exchange->locate(at);
    states.resize(cut.slices.size());
    for (size_t i = 0; i < states.size(); ++i) states[i].slice = static_cast<uint32_t>(i);
  }

  // What the shard answers: all elements of slice i are `value` + i.
  void answer(uint32_t shard, const std::vector<uint32_t>& slices, uint64_t version, float value) {
    std::vector<wire::ValuesPart> parts;
    uint64_t bytes = 0;
    for (const uint32_t id : slices) {
      parts.push_back({.version = version, .slice = id});
      bytes += layout.slices[id].bytes;
    }
    const wire::Values values_message{parts};
    const auto pieces = exchange->landing(shard, values_message, bytes);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const std::vector<float> numbers(pieces[i].size() / sizeof(float),
                                       value + static_cast<float>(slices[i]));
      std::memcpy(pieces[i].data(), numbers.data(), pieces[i].size());
    }
    exchange->arrived(shard, values_message);
  }
  void answer_all(const std::vector<SentMessages::Sent>& sent, uint64_t version, float value) {
    for (const auto& s : sent) answer(s.shard, s.slices, version, value);
  }
  void join(uint64_t epoch, uint64_t step, float value = 0) {
    exchange->join(epoch, step, states);
    answer_all(out.take(), step, value);
  }
  void begin(uint64_t step) {
    exchange->begin_step({.step = step, .begin = {.record = step}, .end = {.record = step + 1}});
  }
  void push(int32_t param, float gradient) {
    std::vector<float>& g = gradients[param];
    g.assign(values[static_cast<size_t>(param)].size(), gradient);
    exchange->push(param, reinterpret_cast<const std::byte*>(g.data()));
  }

  SliceLayout layout;
  SentMessages out;
  std::unique_ptr<ParamExchange> exchange;
  std::vector<std::vector<float>> values;
  std::map<int32_t, std::vector<float>> gradients;
  std::vector<wire::SliceState> states;  // what the shards say when this trainer joins
};

}  // namespace paddle::test
