// A table as bytes, in a file or on its way to one: the line "PDTABLE2", a text of lines "key
// value" with its length and checksum, then parts (table/part.h), each behind its length; a length
// of 0 ends them, and the number of their rows follows. Numbers are little-endian, 8 bytes. It
// begins with all that is known of the table, so that a process without the program that trained it
// can read it too. The rows may come from several shards, one after the other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/table_spec.h"

namespace paddle {

struct TableHead {
  TableSpec spec;
  uint64_t version = 0;  // updates so far
};

// The text of a head, and what it says. Throws Error(data) with the line that is not known.
std::string table_head_text(const TableHead& head);
TableHead table_head_of(const std::string& text, const std::string& file);

class TableWriter {
 public:
  using Sink = std::function<void(std::string_view bytes)>;
  TableWriter(Sink sink, const TableHead& head);
  void part(std::span<const std::byte> chunk);
  void end();

 private:
  void number(uint64_t n);
  Sink sink_;
  uint64_t rows_ = 0;
};

class TableReader {
 public:
  // The next bytes of a file into `to`, as many as it is long; false where the file ends before.
  using Source = std::function<bool(std::span<char> to)>;
  // `file` is for sentences. Throws Error(data), as the other calls do.
  TableReader(Source source, std::string file);
  const TableHead& head() const { return head_; }
  // The next part; false after the last, where all rows have come. What is in a part is checked by
  // whoever reads it.
  bool next(std::vector<std::byte>& chunk);
  uint64_t rows() const { return rows_; }  // so far

 private:
  void bytes(std::span<char> to);
  uint64_t number(uint64_t most);
  Source source_;
  std::string file_;
  TableHead head_;
  uint64_t rows_ = 0;
};

// Of a file that stays open. Throws Error(io).
TableReader::Source file_source(const std::string& path);

}  // namespace paddle
