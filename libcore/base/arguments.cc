#include "base/arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/suggest.h"

namespace paddle {
namespace {

// A list of one stands for its element: job files write both.
const Value& single(const Value& v) {
  const List* list = v.as<List>();
  return list && list->size() == 1 ? list->front() : v;
}

// Whether a number stands there that is too large for its place.
bool is_number(const Value& v) { return v.as<int64_t>() || v.as<double>(); }

bool is_whole(const Value& v) {
  return v.as<int64_t>() || (v.as<double>() && !v.written.empty() &&
                             v.written.find_first_of(".eE") == std::string::npos);
}

template <class T>
std::optional<T> integer(const Value& v) {
  if (const int64_t* i = single(v).as<int64_t>())
    if (*i >= std::numeric_limits<T>::min() && *i <= std::numeric_limits<T>::max())
      return static_cast<T>(*i);
  return std::nullopt;
}

template <class T>
std::optional<T> real(const Value& v) {
  const Value& one = single(v);
  if (const int64_t* i = one.as<int64_t>()) return static_cast<T>(*i);
  if (const double* d = one.as<double>())
    if (std::abs(*d) <= double{std::numeric_limits<T>::max()}) return static_cast<T>(*d);
  return std::nullopt;
}

void add_too_large(const Value& v, const std::string& name, Mistakes& wrong) {
  const double* d = v.as<double>();
  if (d && std::isnan(*d)) return add_expected("a number", v, name, wrong);
  if (v.written.size() > 40)
    wrong.push_back(
        {v.at, text("'", name, "': a number of ", v.written.size(), " digits is too long")});
  else
    wrong.push_back({v.at, text("'", name, "': ", value_text(v), " is too large a number")});
}

template <class T>
void read_integer(const Value& v, const std::string& name, T& place, Mistakes& wrong) {
  if (const auto i = integer<T>(v))
    place = *i;
  else if (is_whole(single(v)))
    add_too_large(single(v), name, wrong);
  else
    add_expected("a whole number", v, name, wrong);
}

template <class T>
void read_real(const Value& v, const std::string& name, T& place, Mistakes& wrong) {
  if (const auto d = real<T>(v))
    place = *d;
  else if (is_number(single(v)))
    add_too_large(single(v), name, wrong);
  else
    add_expected("a number", v, name, wrong);
}

// A list by element, or one element alone.
template <class T>
void read_list(const Value& v, const std::string& name, const char* what, std::vector<T>& place,
               Mistakes& wrong) {
  const List alone{v};
  const List* list = v.as<List>();
  std::vector<T> out;
  for (const Value& item : list ? *list : alone) {
    Mistakes inner;
    read_value(item, name, out.emplace_back(), inner);
    if (inner.empty()) continue;
    const bool nested = item.as<List>() || item.as<Dict>() || !list;
    if (nested || !is_number(item)) return add_expected(what, v, name, wrong);
    wrong.insert(wrong.end(), inner.begin(), inner.end());
    return;
  }
  place = std::move(out);
}

template <class T>
std::string list_text(const T& values) {
  std::string out;
  for (const auto& v : values) out += text(out.empty() ? "" : ", ", v);
  return values.empty() ? "none" : text("[", out, "]");
}

}  // namespace

std::string mistakes_text(const Mistakes& mistakes) {
  std::string out;
  for (const Mistake& m : mistakes) out += (out.empty() ? "" : "; ") + m.what;
  return out;
}

void add_expected(const std::string& what, const Value& v, const std::string& name,
                  Mistakes& wrong) {
  wrong.push_back({v.at, text("'", name, "' must be ", what, ", found ", describe_value(v))});
}

void add_nested(const Mistakes& inner, const std::string& name, Mistakes& wrong) {
  for (const Mistake& m : inner) wrong.push_back({m.at, text("'", name, "': ", m.what)});
}

void read_value(const Value& v, const std::string& name, bool& place, Mistakes& wrong) {
  if (const bool* b = single(v).as<bool>())
    place = *b;
  else
    add_expected("true or false", v, name, wrong);
}

void read_value(const Value& v, const std::string& name, int32_t& place, Mistakes& wrong) {
  read_integer(v, name, place, wrong);
}
void read_value(const Value& v, const std::string& name, int64_t& place, Mistakes& wrong) {
  read_integer(v, name, place, wrong);
}
void read_value(const Value& v, const std::string& name, float& place, Mistakes& wrong) {
  read_real(v, name, place, wrong);
}
void read_value(const Value& v, const std::string& name, double& place, Mistakes& wrong) {
  read_real(v, name, place, wrong);
}

void read_value(const Value& v, const std::string& name, std::string& place, Mistakes& wrong) {
  const Value& one = single(v);
  if (const std::string* s = one.as<std::string>())
    place = *s;
  else if (!one.is_null())
    add_expected("a text", v, name, wrong);
}

void read_value(const Value& v, const std::string& name, std::array<int32_t, 2>& place,
                Mistakes& wrong) {
  std::vector<int32_t> list;
  Mistakes inner;
  read_value(v, name, list, inner);
  if (inner.empty() && (list.size() == 1 || list.size() == 2))
    place = {list.front(), list.back()};
  else
    add_expected("one whole number or two (height, width)", v, name, wrong);
}

void read_value(const Value& v, const std::string& name, std::vector<int32_t>& place,
                Mistakes& wrong) {
  read_list(v, name, "a list of whole numbers", place, wrong);
}
void read_value(const Value& v, const std::string& name, std::vector<int64_t>& place,
                Mistakes& wrong) {
  read_list(v, name, "a list of whole numbers", place, wrong);
}
void read_value(const Value& v, const std::string& name, std::vector<float>& place,
                Mistakes& wrong) {
  read_list(v, name, "a list of numbers", place, wrong);
}
void read_value(const Value& v, const std::string& name, std::vector<std::string>& place,
                Mistakes& wrong) {
  read_list(v, name, "a text or a list of texts", place, wrong);
}

void read_value(const Value& v, const std::string& name, Value& place, Mistakes& wrong) {
  if (v.as<Dict>() != nullptr)
    place = v;
  else
    add_expected("an object { … }", v, name, wrong);
}

void read_value(const Value& v, const std::string& name, List& place, Mistakes& wrong) {
  const List alone{v};
  const List* list = v.as<List>();
  for (const Value& one : list ? *list : alone)
    if (one.as<Dict>() != nullptr)
      place.push_back(one);
    else
      add_expected("an object { … }", one, name, wrong);
}

void describe_type(bool place, Parameter& p) {
  p.type = "boolean";
  p.fallback = place ? "true" : "false";
}
void describe_type(int32_t place, Parameter& p) {
  p.type = "integer";
  p.fallback = text(place);
}
void describe_type(int64_t place, Parameter& p) {
  p.type = "integer";
  p.fallback = text(place);
}
void describe_type(float place, Parameter& p) {
  p.type = "number";
  p.fallback = text(place);
}
void describe_type(double place, Parameter& p) {
  p.type = "number";
  p.fallback = text(place);
}
void describe_type(const std::string& place, Parameter& p) {
  p.type = "text";
  p.fallback = place.empty() ? "none" : place;
}
void describe_type(const std::array<int32_t, 2>& place, Parameter& p) {
  p.type = "integer or pair";
  p.fallback = place[0] == place[1] ? text(place[0]) : text("[", place[0], ", ", place[1], "]");
}
void describe_type(const std::vector<int32_t>& place, Parameter& p) {
  p.type = "integers";
  p.fallback = list_text(place);
}
void describe_type(const std::vector<int64_t>& place, Parameter& p) {
  p.type = "integers";
  p.fallback = list_text(place);
}
void describe_type(const std::vector<float>& place, Parameter& p) {
  p.type = "numbers";
  p.fallback = list_text(place);
}
void describe_type(const std::vector<std::string>& place, Parameter& p) {
  p.type = "texts";
  p.fallback = list_text(place);
}
void describe_type(const Value&, Parameter& p) {
  p.type = "object";
  p.fallback = "none";
}
void describe_type(const List&, Parameter& p) {
  p.type = "objects";
  p.fallback = "none";
}

void Arguments::problem(const std::string& name, std::string what) {
  const Value* v = dict_ ? find(*dict_, name) : nullptr;
  wrong_.push_back({v ? v->at : at_, std::move(what)});
}

Mistakes Arguments::mistakes(std::span<const std::string> also) const {
  Mistakes all = wrong_;
  if (dict_ == nullptr) return all;
  std::vector<std::string> known(also.begin(), also.end());
  for (const Parameter& p : parameters_) known.push_back(p.name);
  for (const auto& [name, value] : *dict_)
    if (std::find(known.begin(), known.end(), name) == known.end())
      all.push_back({value.key, text("there is no key '", name, "'", did_you_mean(name, known))});
  return all;
}

}  // namespace paddle
