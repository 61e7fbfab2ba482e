#include "exec/table_stream.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "exec/table_store.h"
#include "table/checksum.h"
#include "table/part.h"

namespace paddle {
namespace {

constexpr std::string_view stream_magic = "PDTABLE2";
constexpr uint64_t most_text = 1 << 20, most_part = uint64_t{1} << 30;

// Every field of a spec that the rows depend on, by its name in the text.
template <class Spec, class F>
void each_field(Spec& s, const F& f) {
  f("width", s.width);
  f("height", s.height);
  f("rule", s.rule);
  f("l2", s.l2);
  f("init", s.init);
  f("init_a", s.init_a);
  f("init_b", s.init_b);
  f("seed", s.seed);
  f("bf16", s.bf16);
  f("admit_count", s.admit_count);
  f("admit_probability", s.admit_probability);
  f("expire_unseen_steps", s.expire_unseen_steps);
  f("expire_half_life", s.expire_half_life);
  f("expire_min_score", s.expire_min_score);
  f("expire_floor", s.expire_floor);
  f("memory_limit", s.memory_limit);
  f("evict", s.evict);
}

template <class T>
bool read_value(const std::string& text, T& to) {
  if constexpr (std::is_same_v<T, std::string>) {
    to = text;
    return true;
  } else {
    std::istringstream in(text);
    return static_cast<bool>(in >> to) && in.eof();
  }
}

uint64_t rows_in(std::span<const std::byte> chunk) {
  PartHead head{};
  if (chunk.size() < sizeof head) return 0;
  std::memcpy(&head, chunk.data(), sizeof head);
  return head.rows;
}

// Ends the dump whatever happens.
struct Dump {
  explicit Dump(Table& t) : table(t) { table.begin_dump(); }
  ~Dump() { table.end_dump(); }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  Table& table;
};

}  // namespace

std::string table_head_text(const TableHead& head) {
  std::ostringstream out;
  out.precision(std::numeric_limits<float>::max_digits10);
  out << "param " << head.spec.param << "\nversion " << head.version << "\n";
  each_field(head.spec, [&](const char* name, const auto& v) { out << name << ' ' << v << "\n"; });
  for (const auto& [name, value] : head.spec.settings)
    out << "set." << name << ' ' << value << "\n";
  return out.str();
}

TableHead table_head_of(const std::string& text, const std::string& file) {
  TableHead head;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    bool good = false;
    if (key == "param") good = read_value(value, head.spec.param);
    if (key == "version") good = read_value(value, head.version);
    if (key.starts_with("set.")) {
      float number = 0;
      good = read_value(value, number);
      head.spec.settings.emplace_back(key.substr(4), number);
    }
    each_field(head.spec, [&](const char* name, auto& v) {
      if (key == name) good = read_value(value, v);
    });
    require(good, Error::Kind::data, "'", file, "' describes its table by the line '", line,
            "', which this version does not know");
  }
  return head;
}

TableWriter::TableWriter(Sink sink, const TableHead& head) : sink_(std::move(sink)) {
  const std::string text = table_head_text(head);
  sink_(stream_magic);
  number(text.size());
  sink_(text);
  number(checksum64(text.data(), text.size()));
}

void TableWriter::number(uint64_t n) { sink_({reinterpret_cast<const char*>(&n), sizeof n}); }

void TableWriter::part(std::span<const std::byte> chunk) {
  number(chunk.size());
  sink_({reinterpret_cast<const char*>(chunk.data()), chunk.size()});
  rows_ += rows_in(chunk);
}

void TableWriter::end() {
  number(0);
  number(rows_);
}

TableReader::TableReader(Source source, std::string file)
    : source_(std::move(source)), file_(std::move(file)) {
  std::string magic(stream_magic.size(), ' ');
  bytes(magic);
  require(magic == stream_magic, Error::Kind::data, "'", file_, "' is no file of a sparse table");
  std::string text(number(most_text), ' ');
  bytes(text);
  require(number(std::numeric_limits<uint64_t>::max()) == checksum64(text.data(), text.size()),
          Error::Kind::data, "'", file_, "' is damaged: the checksum of its beginning is wrong");
  head_ = table_head_of(text, file_);
}

void TableReader::bytes(std::span<char> to) {
  require(source_(to), Error::Kind::data, "'", file_, "' ends too early: it is damaged");
}

uint64_t TableReader::number(uint64_t most) {
  uint64_t n = 0;
  bytes({reinterpret_cast<char*>(&n), sizeof n});
  require(n <= most, Error::Kind::data, "'", file_, "' has a part of ", n, " bytes: it is damaged");
  return n;
}

bool TableReader::next(std::vector<std::byte>& chunk) {
  chunk.resize(number(most_part));
  bytes({reinterpret_cast<char*>(chunk.data()), chunk.size()});
  rows_ += rows_in(chunk);
  if (!chunk.empty()) return true;
  const uint64_t rows = number(std::numeric_limits<uint64_t>::max());
  require(rows == rows_, Error::Kind::data, "'", file_, "' has ", rows_, " rows, expected ", rows,
          ": it is damaged");
  return false;
}

TableReader::Source file_source(const std::string& path) {
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (!*file) throw io_error("open", path, errno);
  return [file](std::span<char> to) {
    return static_cast<bool>(file->read(to.data(), static_cast<std::streamsize>(to.size())));
  };
}

void TableStore::save(const std::string& param, const Sink& sink) {
  const auto it = tables_.find(param);
  require(it != tables_.end(), Error::Kind::config, "the table '", param,
          "' has no value: run the startup program or load a model first");
  TableWriter out(sink, {it->second.spec, it->second.version});
  std::vector<std::byte> part;
  for (Dump dump(*it->second.table); dump.table.dump_part(part);) out.part(part);
  out.end();
}

void TableStore::begin(const TableHead& head) {
  Kept next = make(head.spec);
  next.version = head.version;
  put(head, std::move(next));
}

void TableStore::put(const TableHead& head, Kept table) {
  const TableSpec& s = head.spec;
  firsts_[s.param] = {s.init, s.init_a, s.init_b, s.seed};
  tables_[s.param] = std::move(table);
  ++generation_;
}

void TableStore::load(const std::string& param, TableReader& in) {
  const TableHead& head = in.head();
  require(head.spec.param == param, Error::Kind::data, "the file is one of the table '",
          head.spec.param, "', not '", param, "'");
  Kept next = make(head.spec);
  next.version = head.version;
  for (std::vector<std::byte> part; in.next(part);) next.table->load_part(part);
  require(next.table->rows() == in.rows(), Error::Kind::data, "the file of the table '", param,
          "' has ", in.rows(), " rows of ", next.table->rows(), " ids: it is damaged");
  put(head, std::move(next));
}

void write_table_file(const std::string& directory, const std::string& table,
                      const std::function<void(const TableWriter::Sink&)>& save) {
  const std::string path = directory + "/" + table_file_name(table), aside = path + ".new";
  make_directories(std::filesystem::path(path).parent_path().string());
  std::ofstream file(aside, std::ios::binary);
  if (!file) throw io_error("create", path, errno);
  save([&](std::string_view bytes) {
    if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
      throw io_error("write", path, errno);
  });
  file.close();
  if (!file) throw io_error("write", path, errno);
  if (std::rename(aside.c_str(), path.c_str()) != 0) throw io_error("put in place", path, errno);
}

void save_tables(TableStore& store, const Names& tables, const std::string& directory) {
  for (const std::string& name : tables)
    if (store.find(name) != nullptr)
      write_table_file(directory, name,
                       [&](const TableWriter::Sink& sink) { store.save(name, sink); });
}

std::map<std::string, std::string> find_table_files(
    const Names& tables, const std::string& directory,
    const std::function<void(const std::string& table)>& missing) {
  std::map<std::string, std::string> out;
  for (const std::string& name : tables) {
    const std::string path = directory + "/" + table_file_name(name);
    if (is_file(path)) {
      out[name] = path;
      continue;
    }
    require(static_cast<bool>(missing), Error::Kind::data, "the table '", name, "' is not in '",
            directory, "': there is no file '", path, "'");
    missing(name);
  }
  return out;
}

void load_tables(TableStore& store, const Names& tables, const std::string& directory,
                 const std::function<void(const std::string& table)>& missing) {
  for (const auto& [name, path] : find_table_files(tables, directory, missing)) {
    TableReader in(file_source(path), path);
    store.load(name, in);
  }
}

}  // namespace paddle
