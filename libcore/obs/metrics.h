// Metrics in the text format of Prometheus (0.0.4). A metric is a row: its name, type, labels,
// meaning, and how it is read from a report. /metrics and docs/metrics.md are printed from the
// rows; a report is a plain value, so that rows are tested without a process.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "obs/shard_status.h"
#include "obs/time_histogram.h"
#include "obs/trainer_report.h"

namespace paddle {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// The samples of one metric, as lines.
class Samples {
 public:
  explicit Samples(std::string_view name) : name_(name) {}

  void put(double value) { put({}, value); }
  void put(const Labels& labels, double value);
  void put(const Labels& labels, uint64_t value);
  void put(const TimeHistogram::Values& values);
  // A histogram of whole numbers: how many were 0, 1, 2 to 3, 4 to 7, …, and beyond.
  void put_counts(const Labels& labels, std::span<const uint64_t> counts, double sum);
  const std::string& lines() const { return lines_; }

 private:
  void line(std::string_view ending, const Labels& labels, std::string_view value);

  const std::string_view name_;
  std::string lines_;
};

enum class MetricType { gauge, counter, histogram };

template <class Report>
struct Metric {
  const char* name;
  MetricType type;
  const char* labels;  // "shard, trainer"; "" for none
  const char* help;
  void (*read)(const Report&, Samples&);
};

// What the kernel says about this process.
struct ProcessReport {
  std::string version;
  double cpu_seconds = 0, start_time = 0;
  uint64_t resident_bytes = 0, open_descriptors = 0, max_descriptors = 0, threads = 0;
};
ProcessReport process_report();

std::string shard_metrics(const std::vector<ShardStatus>& shards);
std::string trainer_metrics(const TrainerReport& report);
std::string process_metrics(const ProcessReport& report);

// All rows as Markdown lists, for docs/metrics.md and `paddle list_metrics`.
std::string metric_lists();

// ---- for the files with rows
void append_metric(std::string& out, const char* name, MetricType type, const char* help,
                   const Samples& samples);
void append_row(std::string& out, const char* name, MetricType type, const char* labels,
                const char* help);

template <class Report>
std::string metrics_text(std::span<const Metric<Report>> rows, const Report& report) {
  std::string out;
  for (const Metric<Report>& row : rows) {
    Samples samples(row.name);
    row.read(report, samples);
    append_metric(out, row.name, row.type, row.help, samples);
  }
  return out;
}

template <class Report>
std::string metrics_list(std::span<const Metric<Report>> rows) {
  std::string out;
  for (const Metric<Report>& row : rows) append_row(out, row.name, row.type, row.labels, row.help);
  return out;
}

std::span<const Metric<std::vector<ShardStatus>>> shard_rows();
std::span<const Metric<TrainerReport>> trainer_rows();
std::span<const Metric<ProcessReport>> process_rows();

}  // namespace paddle
