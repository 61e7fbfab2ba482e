// How fast click logs are read, in one thread: reader_bench [MEGABYTES] writes a generated log of
// that size (default 128) into a file, and reads it from the page cache into batches of 1000
// records, through windows of 16,000 that are shuffled. The limit beside it finds the ends of the
// lines only. Prints one JSON object per line; rates are MB of text per second of
// the processor, medians of turns
// that alternate.
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "data/generate_clicks.h"
#include "data/reader.h"
#include "report.h"

using namespace paddle;
using namespace paddle::bench;

namespace {

constexpr int turns = 5;

// Of the processor, so that other programs on the machine matter less.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of(const std::function<void()>& f) {
  const double begin = cpu_seconds();
  f();
  return cpu_seconds() - begin;
}

// Removed with the object.
struct LogFile {
  explicit LogFile(size_t bytes) {
    const int file = mkstemp(path.data());
    if (file < 0) std::abort();
    ::close(file);
    std::ofstream out(path, std::ios::binary);
    const ClickModel model(1);
    std::string lines;
    for (uint64_t i = 0; size < bytes; ++i) {
      lines.clear();
      model.append_line(model.record(i % 20000), lines);
      out << lines;
      size += lines.size();
    }
  }
  ~LogFile() { std::filesystem::remove(path); }
  std::string path = "/tmp/reader_bench_XXXXXX";
  size_t size = 0;
};

struct Variant {
  const char* name;
  const char* scale;
  int64_t hash_size;
  bool sequences;
};

void read_batches(const std::string& path, const Variant& v) {
  ReaderSpec spec;
  spec.format = "criteo";
  spec.files = {path};
  spec.batch_size = 1000;
  spec.window = 16000;
  spec.shuffle = true;
  spec.keys = {
      {"scale", std::string(v.scale)}, {"hash_size", v.hash_size}, {"sequences", v.sequences}};
  const auto reader = open_reader(spec);
  for (Batch batch; reader->next(batch);) {
  }
}

void find_lines(const std::string& path) {
  LineReader lines(path);
  for (std::string_view line; lines.next(line);) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const LogFile log(static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 128) << 20);
  const std::array variants{Variant{"criteo, log, modulo", "log", 1000001, false},
                            Variant{"criteo, min_max, modulo", "min_max", 1000001, false},
                            Variant{"criteo, log, 64 bits", "log", 0, false},
                            Variant{"criteo, log, 64 bits, sequences", "log", 0, true}};
  std::vector<std::vector<double>> rates(variants.size() + 1);
  const double mb = static_cast<double>(log.size) / 1e6;
  for (int turn = 0; turn < turns; ++turn) {
    for (size_t i = 0; i < variants.size(); ++i)
      rates[i].push_back(mb / seconds_of([&] { read_batches(log.path, variants[i]); }));
    rates.back().push_back(mb / seconds_of([&] { find_lines(log.path); }));
  }
  for (size_t i = 0; i < variants.size(); ++i)
    print_row(variants[i].name, "MB/s", {{"rate", median(rates[i])}});
  print_row("limit: ends of lines alone", "MB/s", {{"rate", median(rates.back())}});
}
