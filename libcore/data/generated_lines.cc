#include "data/generated_lines.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace paddle {
namespace {

class GeneratedBytes : public ByteSource {
 public:
  GeneratedBytes(uint64_t first, uint64_t count, MakeLine make)
      : make_(std::move(make)), next_(first), end_(first + count) {}
  size_t read(std::span<char> to) override {
    size_t n = 0;
    while (n < to.size()) {
      if (at_ == line_.size()) {
        if (next_ == end_) break;
        line_.clear();
        at_ = 0;
        make_(next_++, line_);
      }
      const size_t part = std::min(to.size() - n, line_.size() - at_);
      std::memcpy(to.data() + n, line_.data() + at_, part);
      n += part;
      at_ += part;
    }
    return n;
  }

 private:
  MakeLine make_;
  uint64_t next_, end_;
  std::string line_;
  size_t at_ = 0;
};

class GeneratedReader : public Reader {
 public:
  GeneratedReader(std::unique_ptr<Reader> reader, std::string source)
      : reader_(std::move(reader)), source_(std::move(source)) {}
  const std::vector<FieldSpec>& fields() const override { return reader_->fields(); }
  bool next(Batch& batch) override { return reader_->next(batch); }
  Position position() const override { return reader_->position(); }
  void seek(Position position) override { reader_->seek(position); }
  int64_t records() const override { return reader_->records(); }
  std::string source() const override { return source_; }
  bool generated() const override { return true; }

 private:
  std::unique_ptr<Reader> reader_;
  std::string source_;
};

}  // namespace

std::unique_ptr<ByteSource> generated_lines(uint64_t first, uint64_t count, MakeLine make) {
  return std::make_unique<GeneratedBytes>(first, count, std::move(make));
}

std::unique_ptr<Reader> as_generated(std::unique_ptr<Reader> reader, std::string source) {
  return std::make_unique<GeneratedReader>(std::move(reader), std::move(source));
}

std::string generated_source(const char* format, uint64_t records, uint64_t seed, double best_auc) {
  char auc[16];
  std::snprintf(auc, sizeof auc, "%.4f", best_auc);
  return text(format, ": no files are named: ", records, " records generated from seed ", seed,
              "; the best AUC that a model can reach is ", auc);
}

}  // namespace paddle
