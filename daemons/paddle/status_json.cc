#include <cmath>
#include <cstdio>

#include "paddle/status_view.h"

namespace paddle {
namespace {

// Text of a peer may hold any bytes: what is not UTF-8 becomes U+FFFD, so that the output is JSON.
size_t utf8_length(const std::string& s, size_t at) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0,
               surrogate = first == 0xED && second > 0x9F;
    return tail(at + 1) && tail(at + 2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool outside = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return tail(at + 1) && tail(at + 2) && tail(at + 3) && !outside ? 4 : 0;
  }
  return 0;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const size_t length = utf8_length(s, i);
    if (c == '"' || c == '\\') {
      out += {'\\', s[i]};
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += length == 0 ? "\xEF\xBF\xBD" : s.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + "\"";
}

std::string value(const std::string& v) { return quoted(v); }
std::string value(bool v) { return v ? "true" : "false"; }
std::string value(uint64_t v) { return std::to_string(v); }
std::string value(uint32_t v) { return std::to_string(v); }
std::string value(double v) {
  if (!std::isfinite(v)) return "null";
  char out[32];
  std::snprintf(out, sizeof out, "%.9g", v);
  return out;
}

template <class T, class Each>
std::string list(const std::vector<T>& values, const Each& each) {
  std::string out = "[";
  for (const T& v : values) out += (out.size() == 1 ? "" : ", ") + each(v);
  return out + "]";
}

class Object {
 public:
  template <class T>
  Object& add(const char* key, const T& v) {
    return raw(key, value(v));
  }
  Object& raw(const char* key, const std::string& json) {
    out_ += (out_.size() == 1 ? "\"" : ", \"") + std::string(key) + "\": " + json;
    return *this;
  }
  std::string done() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

std::string json_of(const TrainerStatus& t) {
  return Object()
      .add("id", t.id)
      .add("state", t.state)
      .add("seconds", t.seconds)
      .add("process", t.process)
      .add("step", t.step)
      .add("pass", t.pass)
      .add("passes", t.passes)
      .add("batch", t.batch)
      .add("batches", t.batches)
      .add("samples", t.samples)
      .add("samples_per_second", t.rate)
      .add("cost", t.cost)
      .add("doing", t.doing)
      .add("error", t.error)
      .add("staleness_max", t.staleness_max)
      .add("staleness_mean", t.staleness_mean)
      .add("dropped", t.dropped)
      .add("not_finite", t.not_finite)
      .done();
}

std::string json_of(const SliceStatus& s) {
  return Object()
      .add("name", s.name)
      .add("bytes", s.bytes)
      .add("version", s.version)
      .add("waiting", s.waiting)
      .done();
}

std::string json_of(const ShardStatus& s) {
  Object out;
  out.add("endpoint", s.endpoint).add("sparse", s.sparse).add("answered", s.answered());
  if (!s.answered()) return out.add("problem", s.problem).done();
  return out
      .add("instance", std::to_string(s.instance))  // 64 bits, which JSON readers may round
      .add("build", s.build)
      .add("job", s.job)
      .add("mode", s.mode)
      .add("state", s.state)
      .add("epoch", s.epoch)
      .add("step", s.step)
      .add("steps_per_second", s.steps_per_second)
      .add("uptime", s.uptime)
      .add("cpu_seconds", s.cpu_seconds)
      .add("bytes_in", s.bytes_in)
      .add("bytes_out", s.bytes_out)
      .add("waiting", s.waiting)
      .raw("trainers", list(s.trainers, [](const TrainerStatus& t) { return json_of(t); }))
      .raw("slices", list(s.slices, [](const SliceStatus& slice) { return json_of(slice); }))
      .raw("snapshots", list(s.snapshots, [](uint64_t step) { return value(step); }))
      .raw("last_errors", list(s.last_errors, [](const std::string& e) { return quoted(e); }))
      .done();
}

}  // namespace

std::string status_json(std::span<const ShardStatus> shards) {
  const std::vector<ShardStatus> all(shards.begin(), shards.end());
  return Object()
             .raw("shards", list(all, [](const ShardStatus& s) { return json_of(s); }))
             .raw("trainers",
                  list(trainers_of(shards), [](const TrainerStatus& t) { return json_of(t); }))
             .done() +
         "\n";
}

}  // namespace paddle
