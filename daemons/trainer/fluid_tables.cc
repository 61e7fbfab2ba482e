#include "trainer/fluid_tables.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

#include "base/file.h"
#include "base/run_main.h"
#include "data/byte_source.h"
#include "exec/table_store.h"
#include "graph/find_tables.h"
#include "io/binary_reader.h"
#include "io/tensor_file.h"
#include "optim/merge.h"

namespace paddle {
namespace {

constexpr size_t write_at_once = size_t{1} << 20;

// Bytes that grow from one place of a file on.
class Place {
 public:
  Place(int file, const std::string& path, uint64_t at) : file_(file), path_(path), at_(at) {}
  void add(const void* data, size_t bytes) {
    buffer_.append(static_cast<const char*>(data), bytes);
    if (buffer_.size() >= write_at_once) flush();
  }
  void flush() {
    for (size_t done = 0; done < buffer_.size();) {
      const ssize_t n = ::pwrite(file_, buffer_.data() + done, buffer_.size() - done,
                                 static_cast<off_t>(at_ + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw io_error("write", path_, errno);
      done += static_cast<size_t>(n);
    }
    at_ += buffer_.size();
    buffer_.clear();
    require(stop_signal() == 0, Error::Kind::io, "stopped by a signal; '", path_,
            "' is incomplete");
  }

 private:
  const int file_;
  const std::string& path_;
  uint64_t at_;
  std::string buffer_;
};

// A stream has all ids before the values: both grow at the same time.
class StreamFile {
 public:
  StreamFile(std::string path, uint64_t rows, int64_t height, int64_t width)
      : path_(std::move(path)),
        unfinished_(path_ + ".unfinished"),
        file_(::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                     0640)),
        ids_(file_.get(), path_, 0),
        values_(file_.get(), path_, sizeof(uint32_t) + (rows + 1) * sizeof(uint64_t)) {
    if (!file_) throw io_error("create", path_, errno);
    const uint32_t version = 0;
    ids_.add(&version, sizeof version);
    ids_.add(&rows, sizeof rows);
    const std::string head =
        plain_tensor_head(DType::f32, Shape{static_cast<int64_t>(rows), width});
    values_.add(&height, sizeof height);
    values_.add(head.data(), head.size());
  }
  ~StreamFile() {
    if (file_) ::unlink(unfinished_.c_str());
  }
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  void add(uint64_t id, const std::vector<float>& values) {
    ids_.add(&id, sizeof id);
    values_.add(values.data(), values.size() * sizeof(float));
  }
  void finish() {
    ids_.flush();
    values_.flush();
    if (::fsync(file_.get()) != 0) throw io_error("write", path_, errno);
    if (std::rename(unfinished_.c_str(), path_.c_str()) != 0)
      throw io_error("put in place", path_, errno);
    file_.close();
  }

 private:
  const std::string path_, unfinished_;
  Descriptor file_;
  Place ids_, values_;
};

std::string stream_path(const std::string& directory, const std::string& table, size_t k) {
  return (std::filesystem::path(directory) / text(table, "_", k)).string();
}

// The bytes of the file that a table with the rows of some streams would have.
class StreamsAsFile {
 public:
  explicit StreamsAsFile(const SavedTable& table)
      : files_(table.streams),
        head_(table.head),
        writer_([this](std::string_view bytes) { ready_ += bytes; }, head_),
        part_(part_format(table_options(head_.spec))) {
    const TableSpec& s = head_.spec;
    first_state_ = RowUpdate(s.rule, s.settings, s.l2, s.width).first_state();
  }

  bool read(std::span<char> to) {
    while (!to.empty()) {
      if (at_ == ready_.size() && !more()) return false;
      const size_t n = std::min(to.size(), ready_.size() - at_);
      std::memcpy(to.data(), ready_.data() + at_, n);
      at_ += n;
      to = to.subspan(n);
    }
    return true;
  }

 private:
  bool more() {
    if (ended_) return false;
    ready_.clear();
    at_ = 0;
    part_.begin(chunk_, number_++);
    while (!part_.full() && !ended_)
      if (row_ < rows_.rows.size())
        add_row();
      else if (file_ < files_.size())
        next_stream();
      else
        ended_ = true;
    part_.end(1, 0, ended_);
    writer_.part(chunk_);
    if (ended_) writer_.end();
    return true;
  }

  // Two streams have no id in common, so that each can be checked by itself.
  void next_stream() {
    const std::string& file = files_[file_];
    rows_ = read_fluid_stream(file, head_.spec.width);
    row_ = 0;
    std::vector<int64_t> ids = rows_.rows;
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    require(twice == ids.end(), Error::Kind::data, "'", file, "' has the id ",
            twice == ids.end() ? 0 : *twice, " twice: every id comes once");
    for (const int64_t id : ids)
      require(static_cast<uint64_t>(id) % files_.size() == file_, Error::Kind::data, "'", file,
              "' has the id ", id, ", which belongs to another one of ", files_.size(),
              " streams: streams of several models are mixed, or one is missing");
    const int64_t height = head_.spec.height;
    require(height < 0 || ids.empty() || ids.back() < height, Error::Kind::data, "'", file,
            "' has the id ", ids.empty() ? 0 : ids.back(), ", and the table '", head_.spec.param,
            "' has ", height, " rows");
    require(optim::all_finite<float>(rows_.value.data<float>(), rows_.value.numel()),
            Error::Kind::data, "'", file, "' has rows with NaN or Inf");
    ++file_;
  }

  void add_row() {
    const float* values = rows_.value.data<float>() + static_cast<int64_t>(row_) * head_.spec.width;
    part_.add({.id = static_cast<uint64_t>(rows_.rows[row_++]), .step = 1, .count = 0, .flags = 0},
              values, first_state_);
  }

  const std::vector<std::string> files_;
  const TableHead head_;
  std::string ready_;  // bytes that nobody has read, from at_ on
  size_t at_ = 0;
  TableWriter writer_;
  PartWriter part_;
  std::vector<float> first_state_;
  std::vector<std::byte> chunk_;
  uint32_t number_ = 0;
  size_t file_ = 0, row_ = 0;  // the next of each
  SelectedRows rows_;
  bool ended_ = false;
};

}  // namespace

std::string fluid_tables_directory(const std::string& model) {
  return model + "/" + fluid_tables_name;
}

std::vector<std::string> fluid_streams(const std::string& directory, const std::string& table) {
  // The name of a variable may have slashes.
  const std::filesystem::path first = stream_path(directory, table, 0);
  const std::string prefix =
      first.filename().string().substr(0, first.filename().string().size() - 1);
  size_t count = 0;
  if (!std::filesystem::is_directory(first.parent_path())) return {};
  for (const auto& entry : std::filesystem::directory_iterator(first.parent_path())) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    const std::string number = file.substr(prefix.size());
    int64_t k = 0;
    if (parse_int(number, k) && k >= 0 && k < 65536 && number == text(k))
      count = std::max(count, static_cast<size_t>(k) + 1);
  }
  std::vector<std::string> out;
  for (size_t k = 0; k < count; ++k) out.push_back(stream_path(directory, table, k));
  return out;
}

FluidStreams divide(const TableFile& file, uint64_t streams) {
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - 1);
  FluidStreams out{.rows = std::vector<uint64_t>(streams), .height = file.spec().height};
  file.each_row([&](const std::byte* row) {
    const uint64_t id = head_of(row)->id;
    if (id > most) out.too_large = id;
    if (file.spec().height < 0 && id <= most)
      out.height = std::max(out.height, static_cast<int64_t>(id) + 1);
    ++out.rows[id % streams];
  });
  out.height = std::max<int64_t>(out.height, 0);
  return out;
}

void write_fluid_streams(const TableFile& file, const FluidStreams& streams,
                         const std::string& directory) {
  const std::string& table = file.spec().param;
  const int64_t width = file.layout().width;
  make_directories(std::filesystem::path(stream_path(directory, table, 0)).parent_path().string());
  std::vector<std::unique_ptr<StreamFile>> files;
  for (size_t k = 0; k < streams.rows.size(); ++k)
    files.push_back(std::make_unique<StreamFile>(stream_path(directory, table, k), streams.rows[k],
                                                 streams.height, width));
  std::vector<float> values(static_cast<size_t>(width));
  file.each_row([&](const std::byte* row) {
    file.layout().read(row, values.data());
    files[head_of(row)->id % files.size()]->add(head_of(row)->id, values);
  });
  for (const auto& f : files) f->finish();
  remove_fluid_streams(directory, table, files.size());
}

void remove_fluid_streams(const std::string& directory, const std::string& table, size_t from) {
  const std::vector<std::string> all = fluid_streams(directory, table);
  for (size_t k = from; k < all.size(); ++k)
    if (::unlink(all[k].c_str()) != 0 && errno != ENOENT) throw io_error("remove", all[k], errno);
}

SelectedRows read_fluid_stream(const std::string& file, int64_t width) {
  BinaryReader in(file);
  SelectedRows out = read_selected_rows(in);
  in.expect_end("the values");
  const Shape& shape = out.value.shape();
  require(out.value.dtype() == DType::f32 && shape.rank() == 2, Error::Kind::data, file,
          " has values of ", name_of(out.value.dtype()), shape,
          ", and the rows of a table are float32[rows, width]");
  require(width < 0 || shape[1] == width, Error::Kind::data, file, " has rows of ", shape[1],
          " values, and the table has ", width);
  return out;
}

uint64_t SavedTable::bytes() const {
  if (streams.empty()) return std::filesystem::file_size(path);
  uint64_t sum = 0;
  for (const std::string& s : streams) sum += std::filesystem::file_size(s);
  return sum;
}

TableReader SavedTable::open() const {
  if (streams.empty()) return {file_source(path), path};
  return {
      [in = std::make_shared<StreamsAsFile>(*this)](std::span<char> to) { return in->read(to); },
      path};
}

SavedTable saved_table(const std::string& model, const TableSpec& spec) {
  const std::string path = model + "/" + table_file_name(spec.param);
  if (is_file(path)) return {path};
  const std::string directory = fluid_tables_directory(model);
  std::vector<std::string> streams = fluid_streams(directory, spec.param);
  require(!streams.empty(), Error::Kind::data, "the table '", spec.param, "' is not in '", model,
          "': there is no file '", path, "', and none of Fluid's in '", directory, "'");
  const std::string first = streams[0];
  return {first, std::move(streams), {.spec = spec}};
}

}  // namespace paddle
