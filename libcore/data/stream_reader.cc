#include "data/stream_reader.h"

#include <exception>
#include <numeric>

#include "base/random.h"

namespace paddle {
namespace {

class StreamReader : public Reader {
 public:
  StreamReader(std::unique_ptr<LineFormat> format, const LineFiles& files, const ReaderSpec& spec,
               std::string source)
      : format_(std::move(format)),
        cursor_(*format_, files, spec),
        window_(format_->fields(), spec.memory_limit),
        window_size_(static_cast<uint64_t>(spec.window)),
        batch_size_(static_cast<uint64_t>(spec.batch_size)),
        shuffle_(spec.shuffle),
        drop_last_(spec.drop_last),
        seed_(spec.seed),
        source_(std::move(source)) {}

  const std::vector<FieldSpec>& fields() const override { return window_.fields(); }
  int64_t records() const override { return records_; }
  std::string source() const override { return source_; }
  Position position() const override { return {pass_, first_ + at_}; }

  bool next(Batch& batch) override {
    batch.fields.resize(fields().size());
    batch.samples = 0;
    if (failure_) std::rethrow_exception(failure_);
    if (at_ == order_.size() && !at_end_) {
      load(first_ + order_.size());
      if (failure_) std::rethrow_exception(failure_);
    }
    const uint64_t n = std::min<uint64_t>(order_.size() - at_, batch_size_);
    if (n == 0 || (drop_last_ && n < batch_size_ && at_end_)) return false;
    window_.gather(std::span(order_).subspan(at_, n), batch);
    batch.samples = static_cast<int64_t>(n);
    at_ += n;
    return true;
  }

  void seek(Position to) override {
    const Position before = position();
    if (go(to)) return;
    go(before);
    throw Error(Error::Kind::config, "cannot go to record ", to.record, " of pass ", to.pass,
                ": the files end before it; resume with the data (and trainer_count) that the "
                "position was saved with");
  }

 private:
  // False where there is no such record.
  bool go(Position to) {
    failure_ = nullptr;
    pass_ = to.pass;
    const uint64_t first = to.record / window_size_ * window_size_;
    cursor_.rewind();
    for (uint64_t i = 0; i < first; ++i)
      if (!cursor_.skip()) return false;
    load(first);
    at_ = to.record - first;
    return at_ <= order_.size() || failure_;
  }

  // The next records of the files, which are the window that starts at record `first`. The order of
  // a window depends on the seed, the pass and its place, so that any window can be had without
  // those before it.
  void load(uint64_t first) {
    first_ = first;
    at_ = 0;
    order_.clear();
    window_.clear();
    try {
      while (static_cast<uint64_t>(window_.size()) < window_size_ && cursor_.next(window_)) {
      }
    } catch (...) {  // next() throws it until a seek: the records behind a bad line have lost their
                     // number
      failure_ = std::current_exception();
      return;
    }
    at_end_ = static_cast<uint64_t>(window_.size()) < window_size_;
    order_.resize(static_cast<size_t>(window_.size()));
    std::iota(order_.begin(), order_.end(), 0u);
    if (shuffle_) shuffle(order_, seed_, mix64(pass_) ^ mix64(~(first / window_size_)));
    if (at_end_) records_ = static_cast<int64_t>(first_ + order_.size());
  }

  std::unique_ptr<LineFormat> format_;
  LineCursor cursor_;
  Columns window_;
  uint64_t window_size_, batch_size_;
  bool shuffle_, drop_last_;
  uint64_t seed_;
  std::string source_;
  std::vector<uint32_t> order_;  // of the window
  uint64_t pass_ = 0, first_ = 0, at_ = 0;
  std::exception_ptr failure_;
  bool at_end_ = false;   // the window is the last one
  int64_t records_ = -1;  // known after the first whole pass
};

}  // namespace

std::unique_ptr<Reader> stream_lines(std::unique_ptr<LineFormat> format, const std::string& name,
                                     const LineFiles& files, const ReaderSpec& spec,
                                     const std::string& part) {
  std::string source = text(name, ": records streamed from ", files.names.front());
  if (files.names.size() > 1) source += text(" and ", files.names.size() - 1, " more");
  source += text(", ", spec.window, " at a time", part);
  return std::make_unique<StreamReader>(std::move(format), files, spec, std::move(source));
}

}  // namespace paddle
