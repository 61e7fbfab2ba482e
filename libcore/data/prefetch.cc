// Reading ahead by one thread. Batches travel in a ring: full ones to the consumer, used ones back
// to be filled again.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "data/reader.h"

namespace paddle {
namespace {

class Prefetch : public Reader {
 public:
  Prefetch(std::unique_ptr<Reader> reader, int depth)
      : reader_(std::move(reader)),
        depth_(static_cast<size_t>(depth)),
        fields_(reader_->fields()),
        source_(reader_->source()),
        generated_(reader_->generated()),
        records_(reader_->records()),
        position_(reader_->position()) {
    full_.reserve(depth_);
    used_.reserve(depth_ + 1);
    thread_ = std::thread([this] { work(); });
  }

  ~Prefetch() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  const std::vector<FieldSpec>& fields() const override { return fields_; }
  int64_t records() const override { return records_; }
  std::string source() const override { return source_; }
  bool generated() const override { return generated_; }
  Position position() const override { return position_; }

  bool next(Batch& batch) override {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !full_.empty(); });
    Item& item = full_.front();
    if (item.error) std::rethrow_exception(item.error);  // it stays in front, to be met again
    if (!item.more) {
      batch.samples = 0;
      return false;
    }
    std::swap(batch, item.batch);
    position_ = item.after;
    used_.push_back(std::move(item.batch));
    full_.erase(full_.begin());
    lock.unlock();
    wake_.notify_one();
    return true;
  }

  bool ready() const override {
    const std::lock_guard lock(mutex_);
    return !full_.empty() && full_.front().more && !full_.front().error;
  }

  void seek(Position to) override {
    std::unique_lock lock(mutex_);
    target_ = to;
    wake_.notify_one();
    ready_.wait(lock, [&] { return !target_; });
    if (seek_error_) std::rethrow_exception(std::exchange(seek_error_, nullptr));
    position_ = to;
  }

 private:
  struct Item {
    Batch batch;
    Position after;
    bool more = false;  // false: the pass ended here
    std::exception_ptr error;
  };

  bool pass_open() const { return full_.empty() || (full_.back().more && !full_.back().error); }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || target_ || (pass_open() && full_.size() < depth_); });
      if (stop_) return;
      if (target_) {
        move_to_target();
        ready_.notify_one();
        continue;
      }
      Item item;
      if (!used_.empty()) {
        item.batch = std::move(used_.back());
        used_.pop_back();
      }
      lock.unlock();
      fill(item);
      lock.lock();
      full_.push_back(std::move(item));
      ready_.notify_one();
    }
  }

  // A seek that is refused leaves everything as it was, and loses no batch in flight.
  void move_to_target() {
    try {
      reader_->seek(*target_);
      for (Item& item : full_) used_.push_back(std::move(item.batch));
      full_.clear();
    } catch (...) {
      seek_error_ = std::current_exception();
    }
    target_.reset();
  }

  void fill(Item& item) noexcept {
    try {
      item.more = reader_->next(item.batch);
      item.after = reader_->position();
    } catch (...) {
      item.error = std::current_exception();
    }
  }

  std::unique_ptr<Reader> reader_;  // touched by the thread alone once it runs
  const size_t depth_;
  const std::vector<FieldSpec> fields_;
  const std::string source_;
  const bool generated_;
  const int64_t records_;
  Position position_;  // the consumer's

  mutable std::mutex mutex_;
  std::condition_variable wake_, ready_;  // for the thread, for the consumer
  std::vector<Item> full_;                // few: a vector keeps its memory where a deque would not
  std::vector<Batch> used_;
  std::optional<Position> target_;
  std::exception_ptr seek_error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Reader> prefetch(std::unique_ptr<Reader> reader, int depth) {
  require(depth > 0, Error::Kind::config, "prefetch depth must be at least 1, found ", depth);
  return std::make_unique<Prefetch>(std::move(reader), depth);
}

}  // namespace paddle
