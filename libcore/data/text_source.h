// Lines of text for language models: files that a user named, a known set, or generated sentences.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dictionary.h"
#include "data/reader.h"

namespace paddle {

// Where the lines come from: files for the dictionary and for the records, or one text that is
// split.
struct TextSource {
  std::vector<std::string> dictionary_files, record_files;
  std::vector<std::string> sentences;  // generated, where there are no files
  bool split = false;                  // the last tenth of the lines is the test part

  bool generated() const { return !sentences.empty(); }
};

// The files of `spec`, else the known set, else sentences from its seed. Throws Error(config or
// io).
TextSource find_text(const ReaderSpec& spec);

using OnLine = std::function<void(std::string_view line, const std::string& file)>;

// All lines that count for the dictionary.
void each_dictionary_line(const TextSource& from, const OnLine& call);
// The lines of the training or the test part. `lines` is how many the text has where it is split.
void each_record_line(const TextSource& from, bool test, int64_t lines, const OnLine& call);

// By the rules of dictionary.h. A min_word_freq of -1 means 50, or 0 with a dict_size.
WordMap dictionary_of(const WordCounts& counts, int64_t min_word_freq, int64_t dict_size = 0);

// "404 records from …", for Reader::source().
std::string describe_text(const TextSource& from, const ReaderSpec& spec, int64_t records);

}  // namespace paddle
