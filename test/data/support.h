// What the tests of the readers share: files they write, data that may be there, records as text.
#pragma once

#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/reader.h"

namespace paddle::test {

// A directory that is gone with the object.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "paddle_data_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // Writes a file and gives its path.
  std::string write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

 private:
  std::string path_;
};

// The directory of the public data sets beside the source tree.
inline std::string real_data() {
  const char* source = std::getenv("PADDLE_TEST_SOURCE");
  return std::string(source ? source : ".") + "/../shared/data";
}

// Says so where they are not there.
inline bool have_real_data() {
  const bool there = std::filesystem::exists(real_data());
  if (!there) WARN("no public data at " << real_data());
  return there;
}

// One record of a batch, printed: [field] [field] …
inline std::string record_text(const Batch& batch, int64_t sample) {
  std::string out;
  for (const Tensor& t : batch.fields) {
    int64_t begin = sample, end = sample + 1;
    if (!t.lod().empty()) {
      begin = static_cast<int64_t>(t.lod()[0][static_cast<size_t>(sample)]);
      end = static_cast<int64_t>(t.lod()[0][static_cast<size_t>(sample) + 1]);
    }
    out += out.empty() ? "[" : " [";
    const int64_t width = t.shape().product(1, t.shape().rank());
    for (int64_t i = begin * width; i < end * width; ++i) {
      if (i > begin * width) out += ' ';
      if (t.dtype() == DType::f32)
        out += text(t.data<float>()[i]);
      else
        out += text(t.data<int64_t>()[i]);
    }
    out += ']';
  }
  return out;
}

// The records from here to the end of the pass.
inline std::vector<std::string> rest_of_pass(Reader& reader) {
  std::vector<std::string> out;
  for (Batch batch; reader.next(batch);)
    for (int64_t s = 0; s < batch.samples; ++s) out.push_back(record_text(batch, s));
  return out;
}

inline std::string gzipped(const std::string& content) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, content.size()) + 32, '\0');
  std::string in = content;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

inline std::string xzipped(const std::string& content) {
  std::string out(lzma_stream_buffer_bound(content.size()), '\0');
  size_t n = 0;
  REQUIRE(lzma_easy_buffer_encode(
              6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(content.data()),
              content.size(), reinterpret_cast<uint8_t*>(out.data()), &n, out.size()) == LZMA_OK);
  out.resize(n);
  return out;
}

// With a checksum, as the program zstd does.
inline std::string zstandard(const std::string& content) {
  std::string out(ZSTD_compressBound(content.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const size_t n = ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
  ZSTD_freeCCtx(context);
  REQUIRE_FALSE(ZSTD_isError(n));
  out.resize(n);
  return out;
}

// Sets a key of the spec's format.
inline void set_key(ReaderSpec& spec, const std::string& key, Value value) {
  std::erase_if(spec.keys, [&](const auto& entry) { return entry.first == key; });
  spec.keys.emplace_back(key, std::move(value));
}

inline std::string error_of(const ReaderSpec& spec) {
  try {
    open_reader(spec);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace paddle::test
