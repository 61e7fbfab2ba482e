#include "exec/table_file.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "table/checksum.h"
#include "table/dump_part.h"

namespace paddle {
namespace {

constexpr std::string_view file_magic = "PDTABLE1";
constexpr uint64_t most_head = 1 << 20;

void append_number(std::string& to, uint64_t n) {
  to.append(reinterpret_cast<const char*>(&n), sizeof n);
}

}  // namespace

std::string table_head_value(const std::string& head, const std::string& key) {
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size());
    if (head.compare(at, key.size(), key) == 0 && head[at + key.size()] == ' ')
      return head.substr(at + key.size() + 1, end - at - key.size() - 1);
    at = end + 1;
  }
  return "";
}

// The store reads the words of a head, so a file without rows is made for it.
TableStore empty_table(const std::string& head, const std::string& file) {
  std::string words;
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size());
    if (head.compare(at, 5, "rows ") != 0) words += head.substr(at, end - at) + "\n";
    at = end + 1;
  }
  std::string bytes(file_magic);
  append_number(bytes, words.size());
  bytes += words;
  append_number(bytes, checksum64(words.data(), words.size()));
  append_number(bytes, 0);
  TableStore store;
  size_t at = 0;
  store.load(
      table_head_value(head, "param"),
      [&](std::span<char> to) {
        if (bytes.size() - at < to.size()) return false;
        std::memcpy(to.data(), bytes.data() + at, to.size());
        at += to.size();
        return true;
      },
      file);
  return store;
}

TableFile::TableFile(std::string path) : path_(std::move(path)) {
  std::error_code problem;
  bytes_ = left_ = std::filesystem::file_size(path_, problem);
  if (problem) throw io_error("read", path_, problem.value());
  file_.open(path_, std::ios::binary);
  if (!file_) throw io_error("open", path_, errno);
  char magic[file_magic.size()];
  require(bytes_ > 0, Error::Kind::data, "'", path_,
          "' is empty: it is no file of a sparse table; copy or save the model again");
  require(bytes_ >= sizeof magic, Error::Kind::data, "'", path_,
          "' is no file of a sparse table: it has ", bytes_, " bytes");
  read(magic, sizeof magic);
  require(std::string_view(magic, sizeof magic) == file_magic, Error::Kind::data, "'", path_,
          "' is no file of a sparse table: those end in .table and begin with ", file_magic);
  const uint64_t length = read_number();
  require(length <= most_head && length <= left_, Error::Kind::data, "'", path_,
          "' is damaged: its beginning claims ", length, " bytes of description");
  head_.resize(length);
  read(head_.data(), length);
  require(read_number() == checksum64(head_.data(), head_.size()), Error::Kind::data, "'", path_,
          "' is damaged: the checksum of its beginning is wrong");
  parts_at_ = bytes_ - left_;
  store_ = empty_table(head_, path_);
  kept_ = store_.find(table_head_value(head_, "param"));
  const std::string rows = table_head_value(head_, "rows");
  const auto [end, bad] = std::from_chars(rows.data(), rows.data() + rows.size(), rows_);
  require(bad == std::errc() && end == rows.data() + rows.size(), Error::Kind::data, "'", path_,
          "' does not say how many rows it has");
  const TableOptions& o = kept_->table->options();
  layout_ = {.width = o.width,
             .bf16 = o.bf16,
             .state_numbers = RowUpdate(o.rule, o.settings, o.l2, o.width).state_numbers()};
}

void TableFile::read(void* to, uint64_t bytes) {
  require(bytes <= left_, Error::Kind::data, "'", path_, "' ends too early, after ", bytes_,
          " bytes: it is cut short; copy or save the model again");
  if (!file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)))
    throw io_error("read", path_, errno);
  left_ -= bytes;
}

uint64_t TableFile::read_number() {
  uint64_t n = 0;
  read(&n, sizeof n);
  return n;
}

void TableFile::each_row(const std::function<void(const std::byte* row)>& f) {
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(parts_at_));
  left_ = bytes_ - parts_at_;
  const uint64_t kind = kind_of(kept_->table->options(), layout_.state_numbers);
  const size_t row_bytes = layout_.row_bytes();
  uint64_t seen = 0;
  uint32_t next = 0;
  std::vector<std::byte> part;
  while (const uint64_t length = read_number()) {
    require(length <= left_, Error::Kind::data, "'", path_, "' ends too early, after ", bytes_,
            " bytes, within a part of ", length, " bytes: it is cut short; copy or save it again");
    part.resize(length);
    read(part.data(), length);
    PartView view;
    try {
      view = read_part(part, kept_->spec.param, kind, row_bytes);
    } catch (Error& e) {
      throw e.within("reading '", path_, "'");
    }
    require(view.head.part == next && view.head.since == 0, Error::Kind::data, "'", path_,
            "' has its parts out of order, or one is missing: it is damaged");
    next = view.head.last ? 0 : next + 1;
    for (size_t at = 0; at < view.rows.size(); at += row_bytes) f(view.rows.data() + at);
    seen += view.head.rows;
  }
  require(seen == rows_ && next == 0, Error::Kind::data, "'", path_, "' has ", seen,
          " rows, expected ", rows_, ": it is damaged");
  require(left_ == 0, Error::Kind::data, "'", path_, "' has ", left_,
          " bytes behind its end: it is damaged");
}

}  // namespace paddle
