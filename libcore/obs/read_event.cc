#include <charconv>
#include <cmath>

#include "obs/events.h"
#include "obs/json_fields.h"

namespace paddle {
namespace {

using Kind = JsonField::Kind;

template <class Number>
void read_number(const JsonField& json, Number& out) {
  const std::string& s = json.text;
  Number value{};
  const auto [end, failure] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (json.kind == Kind::number && failure == std::errc() && end == s.data() + s.size())
    out = value;
}

void read_field(const JsonField& json, std::string& out) {
  if (json.kind == Kind::text) out = json.text;
}
void read_field(const JsonField& json, bool& out) {
  if (json.kind == Kind::boolean) out = json.text == "true";
}
void read_field(const JsonField& json, int64_t& out) { read_number(json, out); }
void read_field(const JsonField& json, double& out) {
  if (json.kind == Kind::null) out = NAN;
  read_number(json, out);
}
void read_field(const JsonField& json, event::Evaluators& out) {
  for (const auto& [name, field] : json.members) {
    double value = NAN;
    read_field(field, value);
    out.emplace_back(name, value);
  }
}

template <class Event>
bool read_as(const JsonField& json, const std::string& kind, std::optional<event::Any>& out) {
  if (kind != Event::kind) return false;
  Event event;
  Event::each(event, [&](const char* name, auto& value, const char*) {
    if (const JsonField* found = json.find(name)) read_field(*found, value);
  });
  out = std::move(event);
  return true;
}

template <class... Events>
void read_any(const JsonField& json, const std::string& kind, std::optional<event::Any>& out,
              const std::variant<Events...>*) {
  (void)(read_as<Events>(json, kind, out) || ...);
}

}  // namespace

std::optional<event::Any> read_event(std::string_view line) {
  const std::optional<JsonField> json = read_json_object(line);
  const JsonField* kind = json ? json->find("event") : nullptr;
  std::optional<event::Any> out;
  if (kind != nullptr && kind->kind == Kind::text)
    read_any(*json, kind->text, out, static_cast<const event::Any*>(nullptr));
  return out;
}

}  // namespace paddle
