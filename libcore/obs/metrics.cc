#include "obs/metrics.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/wrap.h"
#include "obs/exchange_times.h"

namespace paddle {
namespace {

const char* metric_type_name(MetricType type) {
  switch (type) {
    case MetricType::gauge: return "gauge";
    case MetricType::counter: return "counter";
    case MetricType::histogram: break;
  }
  return "histogram";
}

std::string metric_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char out[32];
  const auto end = std::to_chars(out, out + sizeof out, value).ptr;
  return {out, end};
}

// Inside quotation marks; a label may come from a peer.
void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

}  // namespace

ExchangeTimes& exchange_times() {
  static ExchangeTimes times;
  return times;
}

void Samples::line(std::string_view ending, const Labels& labels, std::string_view value) {
  lines_ += name_;
  lines_ += ending;
  if (!labels.empty()) {
    char before = '{';
    for (const auto& [name, text] : labels) {
      lines_ += before;
      lines_ += name;
      lines_ += "=\"";
      append_escaped(lines_, text);
      lines_ += '"';
      before = ',';
    }
    lines_ += '}';
  }
  lines_ += ' ';
  lines_ += value;
  lines_ += '\n';
}

void Samples::put(const Labels& labels, double value) { line("", labels, metric_number(value)); }

void Samples::put(const Labels& labels, uint64_t value) { line("", labels, std::to_string(value)); }

void Samples::put(const TimeHistogram::Values& values) {
  uint64_t sum = 0;
  for (size_t i = 0; i < TimeHistogram::finite; ++i) {
    sum += values.counts[i];
    line("_bucket", {{"le", metric_number(TimeHistogram::bound(i))}}, std::to_string(sum));
  }
  sum += values.counts[TimeHistogram::finite];
  line("_bucket", {{"le", "+Inf"}}, std::to_string(sum));
  line("_sum", {}, metric_number(values.seconds));
  line("_count", {}, std::to_string(sum));
}

void Samples::put_counts(const Labels& labels, std::span<const uint64_t> counts, double sum) {
  uint64_t all = 0;
  Labels with_bound = labels;
  with_bound.emplace_back("le", "");
  for (size_t i = 0; i < counts.size(); ++i) {
    const bool last = i + 1 == counts.size();
    all += counts[i];
    with_bound.back().second =
        last ? "+Inf" : metric_number(static_cast<double>((uint64_t{1} << i) - 1));
    line("_bucket", with_bound, std::to_string(all));
  }
  line("_sum", labels, metric_number(sum));
  line("_count", labels, std::to_string(all));
}

void append_metric(std::string& out, const char* name, MetricType type, const char* help,
                   const Samples& samples) {
  if (samples.lines().empty()) return;
  out += text("# HELP ", name, " ", help, "\n# TYPE ", name, " ", metric_type_name(type), "\n");
  out += samples.lines();
}

void append_row(std::string& out, const char* name, MetricType type, const char* labels,
                const char* help) {
  constexpr int doc_columns = 119;
  const std::string by = *labels == '\0' ? "" : text(" by ", labels);
  out += wrapped(text("- `", name, "` (", metric_type_name(type), by, "): ", help), doc_columns);
  out += "\n";
}

std::string shard_metrics(const std::vector<ShardStatus>& shards) {
  return metrics_text(shard_rows(), shards);
}
std::string trainer_metrics(const TrainerReport& report) {
  return metrics_text(trainer_rows(), report);
}
std::string process_metrics(const ProcessReport& report) {
  return metrics_text(process_rows(), report);
}

std::string metric_lists() {
  return "### Of a pserver\n\n" + metrics_list(shard_rows()) + "\n### Of a trainer\n\n" +
         metrics_list(trainer_rows()) + "\n### Of every process\n\n" + metrics_list(process_rows());
}

}  // namespace paddle
