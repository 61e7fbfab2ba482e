#include "io/table_buffer.h"

#include <table_generated.h>

#include <cmath>

#include "base/error.h"
#include "io/sealed.h"

namespace paddle {
namespace {

namespace form = paddle::fbs::table;

constexpr size_t max_bytes = 64u << 10;  // names and a few numbers
constexpr int64_t max_width = 65536;     // as in table/table.h

}  // namespace

std::string to_flatbuffer(const TableSpec& s) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<form::Setting>> settings;
  for (const auto& [name, value] : s.settings)
    settings.push_back(form::CreateSetting(b, b.CreateString(name), value));
  const auto param = b.CreateString(s.param), grad = b.CreateString(s.grad),
             rule = b.CreateString(s.rule), rate = b.CreateString(s.learning_rate),
             init = b.CreateString(s.init);
  const auto all_settings = b.CreateVector(settings);
  form::TableSpecBuilder t(b);
  t.add_param(param);
  t.add_grad(grad);
  t.add_width(s.width);
  t.add_height(s.height);
  t.add_rule(rule);
  t.add_settings(all_settings);
  t.add_l2(s.l2);
  t.add_learning_rate(rate);
  t.add_rate_factor(s.rate_factor);
  t.add_init_kind(init);
  t.add_init_a(s.init_a);
  t.add_init_b(s.init_b);
  t.add_seed(s.seed);
  t.add_first_values_sent(s.first_values_sent);
  t.add_bf16(s.bf16);
  t.add_bf16_wire(s.bf16_wire);
  t.add_admit_count(s.admit_count);
  t.add_admit_probability(s.admit_probability);
  t.add_expire_unseen_steps(s.expire_unseen_steps);
  t.add_expire_half_life(s.expire_half_life);
  t.add_expire_min_score(s.expire_min_score);
  t.add_expire_floor(s.expire_floor);
  t.add_memory_limit(s.memory_limit);
  t.add_evict(s.evict);
  b.Finish(t.Finish(), form::TableSpecIdentifier());
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

TableSpec table_spec_of(std::string_view bytes) {
  require(bytes.size() >= 8 && bytes.size() <= max_bytes, Error::Kind::data,
          "the description of a sparse table has ", bytes.size(), " bytes");
  std::vector<uint64_t> words((bytes.size() + 7) / 8);  // aligned
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const auto* data = reinterpret_cast<const uint8_t*>(words.data());
  flatbuffers::Verifier verifier(data, bytes.size(), 3,
                                 static_cast<flatbuffers::uoffset_t>(bytes.size() / 8 + 1));
  require(form::VerifyTableSpecBuffer(verifier), Error::Kind::data,
          "the description of a sparse table is damaged");
  const form::TableSpec& f = *form::GetTableSpec(data);
  TableSpec s{.param = f.param()->str(),
              .grad = f.grad()->str(),
              .width = f.width(),
              .height = f.height(),
              .rule = f.rule()->str(),
              .settings = {},
              .l2 = f.l2(),
              .learning_rate = f.learning_rate()->str(),
              .rate_factor = f.rate_factor(),
              .init = f.init_kind()->str(),
              .init_a = f.init_a(),
              .init_b = f.init_b(),
              .seed = f.seed(),
              .first_values_sent = f.first_values_sent(),
              .bf16 = f.bf16(),
              .bf16_wire = f.bf16_wire(),
              .admit_count = f.admit_count(),
              .admit_probability = f.admit_probability(),
              .expire_unseen_steps = f.expire_unseen_steps(),
              .expire_half_life = f.expire_half_life(),
              .expire_min_score = f.expire_min_score(),
              .expire_floor = f.expire_floor(),
              .memory_limit = f.memory_limit(),
              .evict = f.evict()};
  for (const form::Setting* x : *f.settings())
    s.settings.emplace_back(x->name()->str(), x->value());
  const auto need = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "the sparse table '", s.param, "' ", why);
  };
  need(!s.param.empty(), "has no name");
  need(s.width > 0 && s.width <= max_width, "has rows of an impossible width");
  need(s.height == -1 || s.height > 0, "has an impossible number of rows");
  for (const float x : {s.l2, s.rate_factor, s.init_a, s.init_b, s.admit_probability})
    need(std::isfinite(x), "is described with a number that is NaN or Inf");
  return s;
}

}  // namespace paddle
