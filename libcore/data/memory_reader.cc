// The reader over records in memory: shard, shuffle, batch, seek.
#include "base/random.h"
#include "data/records.h"

namespace paddle {
namespace {

class MemoryReader : public Reader {
 public:
  MemoryReader(std::unique_ptr<Records> records, const ReaderSpec& spec, std::string source,
               bool generated)
      : records_(std::move(records)),
        batch_size_(spec.batch_size),
        shuffle_(spec.shuffle),
        drop_last_(spec.drop_last),
        seed_(spec.seed),
        source_(std::move(source)),
        generated_(generated) {
    for (int64_t i = spec.trainer_id; i < records_->size(); i += spec.trainer_count)
      mine_.push_back(static_cast<uint32_t>(i));
    order_ = mine_;
    arrange(0);
  }

  const std::vector<FieldSpec>& fields() const override { return records_->fields(); }
  int64_t records() const override { return static_cast<int64_t>(mine_.size()); }
  std::string source() const override { return source_; }
  bool generated() const override { return generated_; }
  Position position() const override { return {pass_, at_}; }

  bool next(Batch& batch) override {
    const uint64_t left = order_.size() - at_;
    const uint64_t n = std::min<uint64_t>(left, static_cast<uint64_t>(batch_size_));
    batch.fields.resize(fields().size());
    if (n == 0 || (drop_last_ && n < static_cast<uint64_t>(batch_size_))) {
      batch.samples = 0;
      return false;
    }
    records_->gather(std::span(order_).subspan(at_, n), batch);
    batch.samples = static_cast<int64_t>(n);
    at_ += n;
    return true;
  }

  void seek(Position to) override {
    require(to.record <= order_.size(), Error::Kind::config, "cannot go to record ", to.record,
            " of pass ", to.pass, ": there are only ", order_.size(),
            " records; resume with the data (and trainer_count) that the position was saved with");
    if (to.pass != pass_) arrange(to.pass);
    at_ = to.record;
  }

 private:
  // From the same start each time, so that the order does not depend on earlier passes.
  void arrange(uint64_t pass) {
    pass_ = pass;
    if (!shuffle_) return;
    order_ = mine_;
    shuffle(order_, seed_, mix64(pass));
  }

  std::unique_ptr<Records> records_;
  int64_t batch_size_;
  bool shuffle_, drop_last_;
  uint64_t seed_;
  std::string source_;
  bool generated_;
  std::vector<uint32_t> mine_, order_;  // the records of this shard, and their order in this pass
  uint64_t pass_ = 0, at_ = 0;
};

}  // namespace

void shuffle(std::span<uint32_t> order, uint64_t seed, uint64_t stream) {
  const RandomStream random(seed, stream ^ hash_text("shuffle"));
  for (uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
}

std::unique_ptr<Reader> read_records(std::unique_ptr<Records> records, const ReaderSpec& spec,
                                     std::string source, bool generated) {
  return std::make_unique<MemoryReader>(std::move(records), spec, std::move(source), generated);
}

}  // namespace paddle
