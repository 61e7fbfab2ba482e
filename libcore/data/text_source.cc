#include "data/text_source.h"

#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/generate.h"

namespace paddle {
namespace {

void each_line(const std::vector<std::string>& files, const TextSource& from, const OnLine& call) {
  for (const std::string& file : files) {
    LineReader lines(file);
    for (std::string_view line; lines.next(line);) call(line, file);
    require_records(lines.number(), file);
  }
  if (files.empty())
    for (const std::string& line : from.sentences) call(line, "generated text");
}

TextSource named_text(const ReaderSpec& spec) {
  TextSource out;
  out.dictionary_files = resolve_files(spec.files, "text", spec);
  out.record_files =
      spec.test ? resolve_files(spec.test_files, "text", spec) : out.dictionary_files;
  require(!out.record_files.empty(), Error::Kind::config,
          "ngram: the test part is asked for, but test_files names no file");
  return out;
}

TextSource known_text(const ReaderSpec& spec) {
  TextSource out;
  const auto train = find_dataset("imikolov", "ptb.train.txt", spec);
  const auto valid = find_dataset("imikolov", "ptb.valid.txt", spec);
  if (train && valid) {
    out.dictionary_files = {*train, *valid};
    out.record_files = {spec.test ? *valid : *train};
    return out;
  }
  out.split = true;
  for (const char* name : {"tinyshakespeare.txt", "warandpeace.txt"})
    if (const auto found = find_dataset("text", name, spec)) {
      out.dictionary_files = out.record_files = {*found};
      return out;
    }
  out.sentences = generate_sentences(spec.seed, 10000);
  return out;
}

}  // namespace

TextSource find_text(const ReaderSpec& spec) {
  return spec.files.empty() ? known_text(spec) : named_text(spec);
}

void each_dictionary_line(const TextSource& from, const OnLine& call) {
  each_line(from.dictionary_files, from, call);
}

void each_record_line(const TextSource& from, bool test, int64_t lines, const OnLine& call) {
  const int64_t cut = lines - lines / 10;
  int64_t at = 0;
  each_line(from.record_files, from, [&](std::string_view line, const std::string& file) {
    if (!from.split || (at++ >= cut) == test) call(line, file);
  });
}

WordMap dictionary_of(const WordCounts& counts, int64_t min_word_freq, int64_t dict_size) {
  const int64_t least = min_word_freq >= 0 ? min_word_freq : dict_size > 0 ? 0 : 50;
  return counts.dictionary(least, dict_size);
}

std::string describe_text(const TextSource& from, const ReaderSpec& spec, int64_t records) {
  const std::string part = !from.split ? ""
                           : spec.test ? " (the last tenth of it)"
                                       : " (all but the last tenth of it)";
  if (!from.record_files.empty())
    return text("ngram: ", source_of_files(records, from.record_files), part);
  return text(not_found("ngram", "ptb.train.txt or tinyshakespeare.txt", spec), ": ", records,
              " records generated from seed ", spec.seed, part);
}

}  // namespace paddle
