#include <charconv>

#include "base/file.h"
#include "base/run_main.h"
#include "io/tensor_file.h"
#include "paddle/table_commands.h"
#include "paddle/table_stats.h"
#include "trainer/fluid_tables.h"

namespace paddle {
namespace {

constexpr size_t write_at_once = size_t{1} << 20;

// Small pieces, handed on as large ones.
class Buffered {
 public:
  explicit Buffered(const TextSink& out) : out_(out) {}
  template <class T>
  void number(T value) {  // as text, with all digits that matter
    char digits[32];
    const auto [end, bad] = std::to_chars(digits, digits + sizeof digits, value);
    bytes_.append(digits, end);
  }
  void add(std::string_view bytes) { bytes_ += bytes; }
  void raw(const void* data, size_t bytes) { add({static_cast<const char*>(data), bytes}); }
  void row_ends() {
    if (bytes_.size() < write_at_once) return;
    flush();
    require(stop_signal() == 0, Error::Kind::io, "stopped by a signal; the export is incomplete");
  }
  void flush() {
    out_(bytes_);
    bytes_.clear();
  }

 private:
  const TextSink& out_;
  std::string bytes_;
};

FluidStreams divided(const TableFile& file, uint64_t shards) {
  FluidStreams out = divide(file, shards);
  require(!out.too_large, Error::Kind::data, "the id ", out.too_large.value_or(0), " of '",
          file.path(),
          "' does not fit into Fluid's SelectedRows, whose rows are numbered up to 2^63 - 2: "
          "export it with --format=text");
  return out;
}

}  // namespace

void export_text(TableFile& file, bool states, const TextSink& out) {
  Buffered to(out);
  to.add("# paddle table 1\n");
  const std::string head = table_head_text(file.head());
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size());
    to.add("# " + head.substr(at, end - at) + "\n");
    at = end + 1;
  }
  to.add(states ? "# columns id step count values state\n" : "# columns id values\n");
  file.each_row([&](const std::byte* at) {
    const RowText row = read_row(at, file.layout());
    to.number(row.id);
    if (states) {
      to.add("\t");
      to.number(row.step);
      to.add("\t");
      to.number(row.count);
    }
    const auto floats = [&](const std::vector<float>& numbers) {
      for (const float v : numbers) {
        to.add("\t");
        to.number(v);
      }
    };
    floats(row.values);
    if (states) floats(row.states);
    to.add("\n");
    to.row_ends();
  });
  to.flush();
}

void export_shards(TableFile& file, const std::string& directory, uint64_t shards) {
  make_writable_directory(directory);
  write_fluid_streams(file, divided(file, shards), directory);
}

// Number of rows and height come first in the stream, or behind the ids, and then the values: the
// file is read three times.
void export_selected_rows(TableFile& file, const TextSink& out) {
  const FluidStreams streams = divided(file, 1);
  const auto rows = static_cast<int64_t>(streams.rows[0]);
  const int64_t height = streams.height;
  Buffered to(out);
  to.raw("\0\0\0\0", 4);  // version 0
  to.raw(&rows, sizeof rows);
  file.each_row([&](const std::byte* row) {
    const uint64_t id = head_of(row)->id;
    to.raw(&id, sizeof id);
    to.row_ends();
  });
  to.raw(&height, sizeof height);
  to.add(plain_tensor_head(DType::f32, Shape{rows, file.layout().width}));
  std::vector<float> values(static_cast<size_t>(file.layout().width));
  file.each_row([&](const std::byte* row) {
    file.layout().read(row, values.data());
    to.raw(values.data(), values.size() * sizeof(float));
    to.row_ends();
  });
  to.flush();
}

}  // namespace paddle
