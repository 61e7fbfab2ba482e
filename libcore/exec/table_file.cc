#include "exec/table_file.h"

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"

namespace paddle {
namespace {

// Counts what it gives, so that an end that comes too early is told from other damage.
TableReader::Source counted(const std::string& path, uint64_t bytes, uint64_t& at) {
  return [source = file_source(path), path, bytes, &at](std::span<char> to) {
    require(to.size() <= bytes - at, Error::Kind::data, "'", path, "' ends too early, after ",
            bytes, " bytes: it is cut short; copy or save the model again");
    at += to.size();
    return source(to);
  };
}

}  // namespace

TableFile::TableFile(std::string path) : path_(std::move(path)) {
  std::error_code problem;
  bytes_ = std::filesystem::file_size(path_, problem);
  if (problem) throw io_error("read", path_, problem.value());
  require(bytes_ > 0, Error::Kind::data, "'", path_,
          "' is empty: it is no file of a sparse table; copy or save the model again");
  uint64_t at = 0;
  head_ = TableReader(counted(path_, bytes_, at), path_).head();
  std::ifstream end(path_, std::ios::binary);
  end.seekg(-static_cast<std::streamoff>(sizeof rows_), std::ios::end);
  if (!end.read(reinterpret_cast<char*>(&rows_), sizeof rows_))
    throw io_error("read", path_, errno);
  try {
    const TableOptions options = table_options(head_.spec);
    empty_ = std::make_unique<Table>(options);
    format_ = part_format(options);
  } catch (Error& e) {
    throw e.within("reading '", path_, "'");
  }
}

void TableFile::each_row(const std::function<void(const std::byte* row)>& f) const {
  uint64_t at = 0;
  uint32_t next = 0;
  TableReader in(counted(path_, bytes_, at), path_);
  for (std::vector<std::byte> part; in.next(part);) {
    PartView view;
    try {
      view = read_part(part, format_);
    } catch (Error& e) {
      throw e.within("reading '", path_, "'");
    }
    require(view.head.part == next && view.head.since == 0, Error::Kind::data, "'", path_,
            "' has its parts out of order, or one is missing: it is damaged");
    next = view.head.last ? 0 : next + 1;
    view.each_row(f);
  }
  require(next == 0, Error::Kind::data, "'", path_, "' lacks its last parts: it is damaged");
  require(in.rows() == rows_ && at == bytes_, Error::Kind::data, "'", path_, "' has ", bytes_ - at,
          " bytes behind its end: it is damaged");
}

}  // namespace paddle
