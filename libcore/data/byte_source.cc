#include "data/byte_source.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"

namespace paddle {
namespace {

constexpr size_t chunk = size_t{256} << 10;
constexpr uint64_t xz_memory = uint64_t{256} << 20;  // what a decoder may take: xz -9 needs 65 MiB

class PlainFile : public ByteSource {
 public:
  explicit PlainFile(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "rb"), &std::fclose) {
    require(file_ != nullptr, Error::Kind::io, "cannot read ", path, ": ", std::strerror(errno),
            "; check the path and its rights");
    std::error_code ignored;  // a directory opens, and only then fails to read
    require(!std::filesystem::is_directory(path, ignored), Error::Kind::io, "cannot read ", path,
            ": it is a directory; name a file in it");
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);
  }
  size_t read(std::span<char> to) override {
    const size_t n = std::fread(to.data(), 1, to.size(), file_.get());
    require(n > 0 || std::ferror(file_.get()) == 0, Error::Kind::io, "cannot read ", path_, ": ",
            std::strerror(errno));
    return n;
  }
  // The first bytes, and back to the start.
  std::string peek(size_t n) {
    std::string head(n, '\0');
    head.resize(read(head));
    std::rewind(file_.get());
    return head;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

[[noreturn]] void fail_compressed(const std::string& path, const char* form, const char* why) {
  throw Error(Error::Kind::data, path, ": the ", form, " data ", why,
              "; the file is damaged or incomplete, fetch it again");
}

class GzipFile : public ByteSource {
 public:
  explicit GzipFile(std::unique_ptr<PlainFile> file) : file_(std::move(file)), in_(chunk) {
    require(inflateInit2(&z_, 15 + 16) == Z_OK, Error::Kind::io, "cannot start zlib for ",
            file_->path());
  }
  ~GzipFile() override { inflateEnd(&z_); }

  size_t read(std::span<char> to) override {
    z_.next_out = reinterpret_cast<Bytef*>(to.data());
    z_.avail_out = static_cast<uInt>(to.size());
    while (z_.avail_out == to.size()) {
      if (z_.avail_in == 0) {
        z_.next_in = reinterpret_cast<Bytef*>(in_.data());
        z_.avail_in = static_cast<uInt>(file_->read(in_));
      }
      if (z_.avail_in == 0) {
        if (!member_done_) fail_compressed(file_->path(), "gzip", "ends early");
        return 0;
      }
      if (member_done_) inflateReset(&z_);  // another member follows: they count as one file
      const int code = inflate(&z_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        fail_compressed(file_->path(), "gzip", "cannot be decoded");
      member_done_ = code == Z_STREAM_END;
    }
    return to.size() - z_.avail_out;
  }

 private:
  std::unique_ptr<PlainFile> file_;
  std::vector<char> in_;
  z_stream z_{};
  bool member_done_ = false;
};

class XzFile : public ByteSource {
 public:
  explicit XzFile(std::unique_ptr<PlainFile> file) : file_(std::move(file)), in_(chunk) {
    require(lzma_stream_decoder(&x_, xz_memory, LZMA_CONCATENATED) == LZMA_OK, Error::Kind::io,
            "cannot start liblzma for ", file_->path());
  }
  ~XzFile() override { lzma_end(&x_); }

  size_t read(std::span<char> to) override {
    x_.next_out = reinterpret_cast<uint8_t*>(to.data());
    x_.avail_out = to.size();
    while (x_.avail_out == to.size() && !done_) {
      if (x_.avail_in == 0 && !file_done_) {
        x_.next_in = reinterpret_cast<const uint8_t*>(in_.data());
        x_.avail_in = file_->read(in_);
        file_done_ = x_.avail_in == 0;
      }
      const lzma_ret code = lzma_code(&x_, file_done_ ? LZMA_FINISH : LZMA_RUN);
      if (code == LZMA_BUF_ERROR) fail_compressed(file_->path(), "xz", "ends early");
      if (code == LZMA_MEMLIMIT_ERROR)
        fail_compressed(file_->path(), "xz", "asks for more than 256 MiB to be decoded");
      if (code != LZMA_OK && code != LZMA_STREAM_END)
        fail_compressed(file_->path(), "xz", "cannot be decoded");
      done_ = code == LZMA_STREAM_END;
    }
    return to.size() - x_.avail_out;
  }

 private:
  std::unique_ptr<PlainFile> file_;
  std::vector<char> in_;
  lzma_stream x_ = LZMA_STREAM_INIT;
  bool file_done_ = false, done_ = false;
};

class ZstdFile : public ByteSource {
 public:
  explicit ZstdFile(std::unique_ptr<PlainFile> file)
      : file_(std::move(file)), in_(chunk), z_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    require(z_ != nullptr, Error::Kind::io, "cannot start libzstd for ", file_->path());
  }

  size_t read(std::span<char> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0 && !to.empty()) {
      if (next_.pos == next_.size && !file_done_) {
        next_ = {in_.data(), file_->read(in_), 0};
        file_done_ = next_.size == 0;
      }
      if (file_done_ && frame_done_) return 0;
      const size_t code = ZSTD_decompressStream(z_.get(), &out, &next_);
      if (ZSTD_isError(code))
        fail_compressed(file_->path(), "zstd",
                        text("cannot be decoded (", ZSTD_getErrorName(code), ")").c_str());
      frame_done_ = code == 0;  // frames that follow each other count as one file
      if (file_done_ && !frame_done_ && out.pos == 0)
        fail_compressed(file_->path(), "zstd", "ends early");
    }
    return out.pos;
  }

 private:
  std::unique_ptr<PlainFile> file_;
  std::vector<char> in_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> z_;
  ZSTD_inBuffer next_{nullptr, 0, 0};
  bool file_done_ = false, frame_done_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  auto file = std::make_unique<PlainFile>(path);
  const std::string head = file->peek(6);
  if (head.starts_with("\x1f\x8b")) return std::make_unique<GzipFile>(std::move(file));
  if (head == std::string_view("\xFD"
                               "7zXZ\0",
                               6))
    return std::make_unique<XzFile>(std::move(file));
  if (head.starts_with("\x28\xB5\x2F\xFD")) return std::make_unique<ZstdFile>(std::move(file));
  return file;
}

}  // namespace paddle
