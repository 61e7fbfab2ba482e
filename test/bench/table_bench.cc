// A sparse table in one thread beside what memory allows: table_bench [ROWS [GROWN]] measures pulls
// and pushes of 100,000 random ids of ROWS rows (default 10,000,000) of 16 values against a gather
// and a scatter of known addresses, then a dump, then the times of calls while a table grows to
// GROWN rows (default 30,000,000; 0 leaves it out). Prints one JSON object per line; rates are M
// rows/s, medians of turns that alternate between table and limit.
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "base/random.h"
#include "base/thread_pool.h"
#include "report.h"
#include "table/table.h"

using namespace paddle;
using namespace paddle::bench;

namespace {

constexpr size_t batch = 100000;
constexpr int64_t dim = 16;
constexpr int turns = 21;

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Line {
  float v[dim];
};

// Plain rows, one cache line each, in huge pages.
class PlainRows {
 public:
  explicit PlainRows(size_t rows) : bytes_(rows * sizeof(Line) + (2u << 20)) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) std::abort();
    memory_ = p;
    const auto at = (reinterpret_cast<uintptr_t>(p) + (2u << 20) - 1) >> 21 << 21;
    rows_ = reinterpret_cast<Line*>(at);
    madvise(rows_, rows * sizeof(Line), MADV_HUGEPAGE);
    std::memset(static_cast<void*>(rows_), 1, rows * sizeof(Line));
  }
  ~PlainRows() { munmap(memory_, bytes_); }
  Line& operator[](size_t i) const { return rows_[i]; }

 private:
  size_t bytes_;
  void* memory_;
  Line* rows_;
};

// The limit: known addresses, asked for in advance. `hint` 3 = into the first level, 2 = second.
template <int hint>
void gather(const PlainRows& rows, const std::vector<uint32_t>& at, std::vector<Line>& out) {
  constexpr size_t ahead = 24;
  for (size_t i = 0; i < at.size(); ++i) {
    if (i + ahead < at.size()) __builtin_prefetch(&rows[at[i + ahead]], 0, hint);
    out[i] = rows[at[i]];
  }
}
template <int hint>
void scatter(const PlainRows& rows, const std::vector<uint32_t>& at, const std::vector<Line>& in) {
  constexpr size_t ahead = 24;
  for (size_t i = 0; i < at.size(); ++i) {
    if (i + ahead < at.size()) __builtin_prefetch(&rows[at[i + ahead]], 1, hint);
    rows[at[i]] = in[i];
  }
}

TableOptions options_of(const char* rule) {
  TableOptions o;
  o.name = "bench";
  o.width = dim;
  o.rule = rule;
  o.init = RowInit::uniform(-0.01f, 0.01f);
  return o;
}

struct Batches {
  std::vector<std::vector<uint64_t>> ids;   // of the table: any 64 bits
  std::vector<std::vector<uint32_t>> rows;  // of the plain rows

  explicit Batches(size_t count) : ids(turns), rows(turns) {
    for (size_t t = 0; t < turns; ++t)
      for (size_t i = 0; i < batch; ++i) {
        // A step that is coprime to the number of rows: distinct within a batch.
        const uint64_t row = (mix64(t) + i * 7368787ull) % count;
        rows[t].push_back(static_cast<uint32_t>(mix64(row) % count));
        ids[t].push_back(mix64(row + 1));
      }
  }
};

struct Limits {
  std::vector<double> gather, both;
};

double rate_of(const std::vector<double>& seconds) {
  return static_cast<double>(batch) / median(seconds) / 1e6;
}

// `at` and `other` are rows that were not touched for long.
void measure_limit(const PlainRows& plain, const std::vector<uint32_t>& at,
                   const std::vector<uint32_t>& other, std::vector<Line>& out, Limits& first,
                   Limits& second) {
  first.gather.push_back(seconds_of([&] { gather<3>(plain, at, out); }));
  first.both.push_back(first.gather.back() + seconds_of([&] { scatter<3>(plain, at, out); }));
  second.gather.push_back(seconds_of([&] { gather<2>(plain, other, out); }));
  second.both.push_back(second.gather.back() + seconds_of([&] { scatter<2>(plain, other, out); }));
}

void fill(Table& table, size_t rows) {
  std::vector<uint64_t> ids;
  std::vector<float> grads(8192 * dim, 0.001f);
  for (size_t at = 0; at < rows; at += ids.size()) {
    ids.clear();
    for (size_t i = at; i < std::min(rows, at + 8192); ++i) ids.push_back(mix64(i + 1));
    table.push(ids, grads.data(), 0.01f, 0);
  }
}

void measure_rule(const char* rule, size_t rows) {
  const PlainRows plain(rows);
  const Batches batches(rows);
  Table table(options_of(rule));
  fill(table, rows);
  std::vector<Line> out(batch);
  const std::vector<float> grads(batch * dim, 0.001f);
  Limits first, second;
  std::vector<double> pull, push;
  for (size_t t = 0; t < turns; ++t) {
    const auto& other = batches.ids[(t + turns / 2) % turns];
    pull.push_back(seconds_of([&] { table.pull(batches.ids[t], out[0].v); }));
    push.push_back(seconds_of([&] { table.push(other, grads.data(), 0.01f, t + 1); }));
    measure_limit(plain, batches.rows[t], batches.rows[(t + turns / 2) % turns], out, first,
                  second);
  }
  const double gathers = std::max(rate_of(first.gather), rate_of(second.gather));
  const double both = std::max(rate_of(first.both), rate_of(second.both));
  const auto n = static_cast<double>(rows);
  const double own = 8 + 4 * static_cast<double>(dim) *
                             (1 + static_cast<double>(optim::find_row_rule(rule)->states.size()));
  print_row(std::string("table ") + rule, "M rows/s",
            {{"pull", rate_of(pull)},
             {"gather", gathers},
             {"gather_to_l1", rate_of(first.gather)},
             {"pull_percent", 100 * rate_of(pull) / gathers},
             {"push", rate_of(push)},
             {"gather_scatter", both},
             {"push_percent", 100 * rate_of(push) / both},
             {"bytes_per_row_beyond_id_values_state",
              static_cast<double>(table.row_memory()) / n - own}});
}

// A whole dump, part by part, and the same read into another table.
void measure_dump(size_t rows) {
  Table table(options_of("adagrad")), copy(options_of("adagrad"));
  fill(table, rows);
  std::vector<std::byte> part;
  std::vector<double> writing, reading;
  double bytes = 0, write_seconds = 0, read_seconds = 0;
  table.begin_dump();
  for (bool more = true; more;) {
    writing.push_back(1e3 * seconds_of([&] { more = table.dump_part(part); }));
    write_seconds += writing.back() / 1e3;
    if (more) read_seconds += seconds_of([&] { copy.load_part(part); });
    bytes += static_cast<double>(part.size());
  }
  table.end_dump();
  if (copy.digest() != table.digest()) std::abort();
  print_row("dump", "ms per part",
            {{"GB", bytes / 1e9},
             {"parts", static_cast<double>(writing.size() - 1)},
             {"p50", percentile(writing, 0.5)},
             {"p99", percentile(writing, 0.99)},
             {"max", percentile(writing, 1)},
             {"write_GB_per_s", bytes / write_seconds / 1e9},
             {"read_GB_per_s", bytes / read_seconds / 1e9},
             {"read_M_rows_per_s", static_cast<double>(rows) / read_seconds / 1e6}});
}

// Calls of 4096 new ids each: how long they take, and what a row costs on the way.
void measure_growth(size_t rows) {
  Table table(options_of("sgd"));
  constexpr size_t part = 4096;
  std::vector<uint64_t> ids(part);
  const std::vector<float> grads(part * dim, 0.001f);
  std::vector<double> times;
  double most = 0;
  for (size_t at = 0; at < rows; at += part) {
    for (size_t i = 0; i < part; ++i) ids[i] = mix64(at + i + 1);
    times.push_back(1e3 * seconds_of([&] { table.push(ids, grads.data(), 0.01f, at / part); }));
    if (at >= rows / 4 && at % (part * 64) == 0)
      most = std::max(most,
                      static_cast<double>(table.row_memory()) / static_cast<double>(table.rows()));
  }
  double total = 0;
  for (const double t : times) total += t;
  print_row("growth", "ms per call of 4096 new ids",
            {{"rows", static_cast<double>(table.rows())},
             {"M_rows_per_s", static_cast<double>(table.rows()) / total / 1e3},
             {"p50", percentile(times, 0.5)},
             {"p99", percentile(times, 0.99)},
             {"p99.9", percentile(times, 0.999)},
             {"max", percentile(times, 1)},
             {"most_bytes_per_row_beyond_id_values_state", most - 8 - 4 * dim}});
  Numbers histogram;
  const char* names[] = {"<1", "<2", "<3", "<5", "<7", "<10", "<20", "<50", ">=50"};
  const double ends[] = {1, 2, 3, 5, 7, 10, 20, 50, 1e9};
  for (size_t k = 0; k < std::size(ends); ++k) {
    const double begin = k == 0 ? 0 : ends[k - 1];
    histogram.push_back(
        {names[k], static_cast<double>(std::count_if(times.begin(), times.end(), [&](double t) {
           return t >= begin && t < ends[k];
         }))});
  }
  print_row("growth histogram", "calls by ms", histogram);
}

}  // namespace

int main(int argc, char** argv) {
  flush_denormals();
  const size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000000;
  const size_t grown = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 30000000;
  for (const char* rule : {"sgd", "adagrad", "adam"})
    if (rows > 0) measure_rule(rule, rows);
  if (rows > 0) measure_dump(rows);
  if (grown > 0) measure_growth(grown);
}
