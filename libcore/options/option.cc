#include "options/option.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/machine_memory.h"
#include "base/suggest.h"

namespace paddle {
namespace {

template <class Number>
bool is_whole(const std::string& value) {
  Number number{};
  const char* end = value.data() + value.size();
  const auto [stopped, failure] = std::from_chars(value.data(), end, number);
  return failure == std::errc() && stopped == end && std::isfinite(static_cast<double>(number));
}

std::string type_problem(OptionType type, const std::string& value) {
  switch (type) {
    case OptionType::flag: return parse_flag(value).ok ? "" : "must be true or false";
    case OptionType::integer:
      return is_whole<int64_t>(value) ? "" : "must be a whole number of at most 64 bits";
    case OptionType::real: return is_whole<double>(value) ? "" : "must be a finite number";
    case OptionType::text:
      return value.find('\0') == std::string::npos ? "" : "must not contain a zero byte";
  }
  return "";
}

// Short and printable, whatever it is.
std::string shown(const std::string& value) {
  std::string out = value.size() > 80 ? value.substr(0, 77) + "..." : value;
  for (char& c : out)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  return out;
}

// 2147483647, not 2.14748e+09.
std::string limit_text(double limit) {
  const auto whole = static_cast<int64_t>(limit);
  return static_cast<double>(whole) == limit ? text(whole) : text(limit);
}

}  // namespace

OptionCheck at_least(double low) {
  return [low](const std::string& value) {
    return std::stod(value) >= low ? "" : text("must be at least ", limit_text(low));
  };
}

OptionCheck above(double low) {
  return [low](const std::string& value) {
    return std::stod(value) > low ? "" : text("must be greater than ", low);
  };
}

OptionCheck between(double low, double high) {
  return [low, high](const std::string& value) {
    const double number = std::stod(value);
    return number >= low && number <= high
               ? ""
               : text("must be from ", limit_text(low), " to ", limit_text(high));
  };
}

OptionCheck amount_of_memory() {
  return [](const std::string& value) -> std::string {
    constexpr uint64_t whole = uint64_t{1} << 40, least = 1u << 20;  // any will do for a share
    const bool share = value.ends_with('%');
    const std::optional<uint64_t> bytes = parse_memory(value, whole);
    if (bytes && (share ? *bytes <= whole : *bytes >= least)) return "";
    return "must be bytes (at least 1m), a number with k, m, g or t, or a share such as 75%";
  };
}

OptionCheck zero_or(OptionCheck check) {
  return [check = std::move(check)](const std::string& value) -> std::string {
    const std::string problem = value == "0" ? "" : check(value);
    return problem.starts_with("must be ") ? "must be 0, or " + problem.substr(8) : problem;
  };
}

OptionCheck one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& value) -> std::string {
    if (std::find(words.begin(), words.end(), value) != words.end()) return "";
    std::vector<std::string> shown;  // without "", which is the default
    std::copy_if(words.begin(), words.end(), std::back_inserter(shown),
                 [](const std::string& w) { return !w.empty(); });
    std::string list;
    for (size_t i = 0; i < shown.size(); ++i)
      list += (i == 0 ? "" : i + 1 == shown.size() ? " or " : ", ") + shown[i];
    return "must be " + list + did_you_mean(value, shown);
  };
}

ParsedFlag parse_flag(const std::string& word) {
  std::string lower = word;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* yes : {"true", "1", "yes", "t", "y"})
    if (lower == yes) return {true, true};
  for (const char* no : {"false", "0", "no", "f", "n"})
    if (lower == no) return {true, false};
  return {};
}

std::string problem_with(const Option& option, const std::string& value) {
  const bool word =
      std::find(option.words.begin(), option.words.end(), value) != option.words.end();
  std::string problem = word ? "" : type_problem(option.type, value);
  if (!problem.empty())
    for (const std::string& other : option.words) problem += " or " + other;
  if (problem.empty() && option.check) problem = option.check(value);
  return problem.empty() ? "" : problem + ", not '" + shown(value) + "'";
}

}  // namespace paddle
