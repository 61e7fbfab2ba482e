#include "paddle/prediction_text.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace paddle {
namespace {

bool is_sequence(const View& v) { return v.lod != nullptr && !v.lod->empty(); }

int64_t width_of(const View& v) { return v.shape.product(1, v.shape.rank()); }

template <class T>
void add_number(T value, const std::string& name, uint64_t record, std::string& to) {
  if constexpr (std::is_floating_point_v<T>)
    require(std::isfinite(value), Error::Kind::numeric, "the output '", name, "' of record ",
            record, " is ", value, ": the record or the model holds numbers that are too large");
  char digits[32];
  const auto [end, bad] = std::to_chars(digits, digits + sizeof digits, value);
  to.append(digits, end);
}

void add_element(const Prediction& p, int64_t i, uint64_t record, std::string& to) {
  const View& v = *p.view;
  switch (v.dtype) {
    case DType::f32: return add_number(v.as<float>()[i], p.name, record, to);
    case DType::f64: return add_number(v.as<double>()[i], p.name, record, to);
    case DType::i32: return add_number(v.as<int32_t>()[i], p.name, record, to);
    case DType::i64: return add_number(v.as<int64_t>()[i], p.name, record, to);
    case DType::boolean: return add_number(int{v.as<bool>()[i]}, p.name, record, to);
    case DType::u8: return add_number(int{v.as<uint8_t>()[i]}, p.name, record, to);
    default:
      throw Error(Error::Kind::config, "the output '", p.name, "' is ", name_of(v.dtype),
                  ", which has no text");
  }
}

struct Rows {
  int64_t from, to;
};

Rows rows_of(const Prediction& p, int64_t sample) {
  if (!is_sequence(*p.view)) return {sample, sample + 1};
  const auto& offsets = p.view->lod->front();
  return {static_cast<int64_t>(offsets[static_cast<size_t>(sample)]),
          static_cast<int64_t>(offsets[static_cast<size_t>(sample) + 1])};
}

void add_csv(const Prediction& p, int64_t sample, uint64_t record, std::string& to) {
  const int64_t width = width_of(*p.view);
  const auto [from, end] = rows_of(p, sample);
  for (int64_t i = from * width; i < end * width; ++i) {
    if (i > from * width) to += is_sequence(*p.view) ? ' ' : ',';
    add_element(p, i, record, to);
  }
}

void add_row_json(const Prediction& p, int64_t row, uint64_t record, std::string& to) {
  const int64_t width = width_of(*p.view);
  if (width == 1) return add_element(p, row, record, to);
  for (int64_t j = 0; j < width; ++j) {
    to += j == 0 ? '[' : ',';
    add_element(p, row * width + j, record, to);
  }
  to += ']';
}

void add_json(const Prediction& p, int64_t sample, uint64_t record, std::string& to) {
  to += '"';
  for (const char c : p.name) {
    if (c == '"' || c == '\\') to += '\\';
    to += c;
  }
  to += "\":";
  const auto [from, end] = rows_of(p, sample);
  if (!is_sequence(*p.view)) return add_row_json(p, from, record, to);
  to += '[';
  for (int64_t row = from; row < end; ++row) {
    if (row > from) to += ',';
    add_row_json(p, row, record, to);
  }
  to += ']';
}

void require_a_part_per_record(const Prediction& p, int64_t samples) {
  const View& v = *p.view;
  const int64_t parts = is_sequence(v)        ? static_cast<int64_t>(v.lod->front().size()) - 1
                        : v.shape.rank() == 0 ? 1
                                              : v.shape[0];
  require(parts == samples, Error::Kind::config, "the output '", p.name, "' has ", parts,
          " rows for ", samples,
          " records: an output of paddle infer has one row, or one sequence, for each record");
}

}  // namespace

std::string prediction_header(const std::vector<Prediction>& outputs) {
  std::string out;
  for (const Prediction& p : outputs) {
    const int64_t width = is_sequence(*p.view) ? 1 : width_of(*p.view);
    for (int64_t j = 0; j < width; ++j) {
      if (!out.empty()) out += ',';
      out += width == 1 ? p.name : text(p.name, ".", j);
    }
  }
  return out + "\n";
}

void add_predictions(const std::vector<Prediction>& outputs, int64_t samples, uint64_t first,
                     PredictionForm form, std::string& to) {
  for (const Prediction& p : outputs) require_a_part_per_record(p, samples);
  for (int64_t s = 0; s < samples; ++s) {
    const uint64_t record = first + static_cast<uint64_t>(s);
    if (form == PredictionForm::json) to += '{';
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (k > 0) to += ',';
      if (form == PredictionForm::json)
        add_json(outputs[k], s, record, to);
      else
        add_csv(outputs[k], s, record, to);
    }
    to += form == PredictionForm::json ? "}\n" : "\n";
  }
}

}  // namespace paddle
