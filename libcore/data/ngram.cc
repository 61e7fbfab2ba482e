// N-gram text: every run of n words within <s> line <e>, as n fields of one id each.
#include <limits>

#include "data/byte_source.h"
#include "data/formats.h"
#include "data/text_source.h"

namespace paddle {
namespace {

// The text is held once, as ids; a record is the place where its first word stands.
class NgramRecords : public Records {
 public:
  NgramRecords(std::vector<FieldSpec> fields, uint64_t memory_limit)
      : Records(std::move(fields)), budget_(memory_limit) {}

  int64_t size() const override { return static_cast<int64_t>(starts_.size()); }

  void gather(std::span<const uint32_t> rows, Batch& batch) const override {
    const auto n = static_cast<int64_t>(rows.size());
    for (size_t f = 0; f < fields_.size(); ++f) {
      batch.fields[f].resize(DType::i64, {n, 1});
      auto* out = batch.fields[f].data<int64_t>();
      for (const uint32_t row : rows) *out++ = ids_[starts_[row] + f];
    }
  }

  void add_line(std::string_view line, const WordMap& dictionary, const std::string& file) {
    const int32_t unknown = static_cast<int32_t>(dictionary.size()) - 1;
    const size_t begin = ids_.size();
    const auto add = [&](std::string_view word) {
      const auto it = dictionary.find(word);
      ids_.push_back(it == dictionary.end() ? unknown : static_cast<int32_t>(it->second));
    };
    add("<s>");
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) add(word);
    add("<e>");
    const size_t words = ids_.size() - begin;
    require(ids_.size() < std::numeric_limits<uint32_t>::max(), Error::Kind::data, file,
            ": more than 2^32 - 1 words; read fewer files at once");
    budget_.take(words * (sizeof(int32_t) + sizeof(uint32_t)), file);
    for (size_t i = 0; i + fields_.size() <= words; ++i)
      starts_.push_back(static_cast<uint32_t>(begin + i));
  }

 private:
  std::vector<int32_t> ids_;
  std::vector<uint32_t> starts_;
  MemoryBudget budget_;
};

struct NgramKeys {
  int32_t ngram = 5;
  int64_t dict_size = 0, min_word_freq = -1;

  void declare(Arguments& a) {
    a.optional("ngram", ngram, "words of a record, 1 to 64; the last is to be guessed");
    a.optional("dict_size", dict_size,
               "most words of the dictionary, <unk> included; 0 = any number");
    a.optional("min_word_freq", min_word_freq,
               "words of the dictionary are more frequent; -1 = 50, or 0 with a dict_size");
  }
};

std::vector<FieldSpec> fields_of(const ReaderSpec& spec, int ngram, int64_t dictionary_size) {
  std::vector<FieldSpec> fields;
  for (int i = 0; i < ngram; ++i)
    fields.push_back({text("word_", i), DType::i64, {1}, 0, dictionary_size});
  rename_fields(fields, spec);
  return fields;
}

std::unique_ptr<Reader> open_ngram(const ReaderSpec& spec, const NgramKeys& keys) {
  require(keys.ngram >= 1 && keys.ngram <= 64, Error::Kind::config,
          "ngram: the number of words must be 1 to 64, found ", keys.ngram);
  require(keys.dict_size >= 0 && keys.dict_size <= std::numeric_limits<int32_t>::max(),
          Error::Kind::config, "ngram: dict_size must be 0 (any) to 2^31 - 1, found ",
          keys.dict_size);
  const TextSource from = find_text(spec);

  WordCounts counts;
  MemoryBudget budget(spec.memory_limit);
  each_dictionary_line(from, [&](std::string_view line, const std::string& file) {
    counts.add_line(line, budget, file);
  });
  const WordMap dictionary = dictionary_of(counts, keys.min_word_freq, keys.dict_size);

  auto records = std::make_unique<NgramRecords>(
      fields_of(spec, keys.ngram, static_cast<int64_t>(dictionary.size())), spec.memory_limit);
  each_record_line(from, spec.test, counts.lines(),
                   [&](std::string_view line, const std::string& file) {
                     records->add_line(line, dictionary, file);
                   });
  require(records->size() > 0, Error::Kind::data,
          from.record_files.empty() ? "generated text" : from.record_files.front(),
          ": expected at least one line of ", keys.ngram - 2,
          " words, found none; ask for a smaller ngram");
  std::string source = describe_text(from, spec, records->size());
  return read_records(std::move(records), spec, std::move(source), from.generated());
}

OpenReader declare_ngram(Arguments& a) {
  NgramKeys keys;
  keys.declare(a);
  return [keys](const ReaderSpec& spec) { return open_ngram(spec, keys); };
}

}  // namespace

DataFormat ngram_format() {
  return {"ngram", "every run of n words within the lines of a text, as n fields of one id each",
          declare_ngram, true};  // the dictionary comes from `files`
}

}  // namespace paddle
