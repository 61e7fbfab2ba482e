#include "io/binary_reader.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>

#include "base/file.h"

namespace paddle {

static_assert(std::endian::native == std::endian::little,
              "the file formats are little-endian and are read as they stand");

namespace {

// A guess from the first bytes, so that a user who named the wrong file learns what it is.
std::string guess(std::string_view head, uint64_t size) {
  struct Magic {
    std::string_view bytes, kind;
  };
  static constexpr Magic known[] = {
      {"\x1f\x8b", "a gzip archive"},
      {"\x89PNG", "a PNG image"},
      {"PK\x03\x04", "a zip archive"},
      {"\xfd"
       "7zXZ",
       "an xz archive"},
      {"\xff\xd8\xff", "a JPEG image"},
      {"\x7f"
       "ELF",
       "a program"},
      {"\x93NUMPY", "a NumPy array"},
      {"\x80\x02", "a Python pickle"},
  };
  for (const Magic& m : known)
    if (head.substr(0, m.bytes.size()) == m.bytes) return std::string(m.kind);
  if (head.size() == 16) {  // the header of a v2 parameter file says how long the file must be
    uint32_t version, width;
    uint64_t count;
    std::memcpy(&version, head.data(), 4);
    std::memcpy(&width, head.data() + 4, 4);
    std::memcpy(&count, head.data() + 8, 8);
    if (version == 0 && (width == 4 || width == 8) && (size - 16) % width == 0 &&
        count == (size - 16) / width)
      return "a parameter file of PaddlePaddle v2";
  }
  const auto readable = [](unsigned char c) {
    return (c >= 32 && c < 127) || c == '\n' || c == '\r' || c == '\t';
  };
  return !head.empty() && std::all_of(head.begin(), head.end(), readable) ? "text" : "";
}

}  // namespace

BinaryReader::BinaryReader(std::string_view memory, std::string name)
    : name_(std::move(name)), memory_(memory), size_(memory.size()) {
  look();
}

BinaryReader::BinaryReader(const std::string& path) : name_(path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found) throw io_error("open", path, ENOENT);
  if (failure) throw io_error("open", path, failure.value());
  // A pipe or a device would block, or never end.
  if (!std::filesystem::is_regular_file(status)) throw io_error("open", path, EISDIR);
  errno = 0;
  file_ = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file_) throw io_error("open", path, errno ? errno : EIO);
  size_ = std::filesystem::file_size(path, failure);
  if (failure) throw io_error("look at", path, failure.value());
  look();
}

void BinaryReader::look() {
  char head[16];
  const size_t n = std::min<uint64_t>(size_, sizeof head);
  if (n == 0) return;
  if (file_) {
    file_->read(head, static_cast<std::streamsize>(n));
    file_->seekg(0);
  } else {
    std::memcpy(head, memory_.data(), n);
  }
  kind_ = guess({head, n}, size_);
}

void BinaryReader::read(void* to, uint64_t n, std::string_view what) {
  if (n > left())
    fail(offset_, "expected ", n, " bytes of ", what, ", found ", left(),
         kind_.empty() ? "; the file is cut short, save or copy it again"
                       : "; this looks like " + kind_);
  if (n == 0) return;
  if (file_) {
    file_->read(static_cast<char*>(to), static_cast<std::streamsize>(n));
    if (static_cast<uint64_t>(file_->gcount()) != n)
      throw Error(Error::Kind::io, "cannot read '", name_, "' at offset ", offset_,
                  ": it shrank or the disk failed; try again");
  } else {
    std::memcpy(to, memory_.data() + offset_, n);
  }
  offset_ += n;
}

std::string BinaryReader::bytes(uint64_t n, std::string_view what) {
  std::string out(n <= left() ? n : 0, '\0');  // memory only for what is there
  read(out.data(), n, what);
  return out;
}

void BinaryReader::expect_end(std::string_view after) {
  if (left() > 0)
    fail(offset_, "expected the end of the file after ", after, ", found ", left(),
         " more bytes; it was saved for another set of variables, or is no such file");
}

}  // namespace paddle
