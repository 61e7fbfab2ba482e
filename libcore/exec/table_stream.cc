// A table as bytes: the line "PDTABLE1", a text of lines "key value" with its length and checksum,
// then the parts of a dump (table/dump.cc), each behind its length; a length of 0 ends them.
// Numbers are little-endian, 8 bytes.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "exec/table_store.h"
#include "table/checksum.h"

namespace paddle {
namespace {

constexpr std::string_view stream_magic = "PDTABLE1";
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

std::string head_text(const TableStore::Kept& k) {
  std::ostringstream out;
  out.precision(std::numeric_limits<float>::max_digits10);
  out << "param " << k.spec.param << "\nversion " << k.version << "\nrows " << k.table->rows()
      << "\n";
  each_field(k.spec, [&](const char* name, const auto& v) { out << name << ' ' << v << "\n"; });
  for (const auto& [name, value] : k.spec.settings) out << "set." << name << ' ' << value << "\n";
  return out.str();
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

struct Head {
  TableStore::Kept kept;
  uint64_t rows = 0;
};

Head read_head(const std::string& text, const std::string& file) {
  Head head;
  TableStore::Kept& k = head.kept;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    bool good = false;
    if (key == "param") good = read_value(value, k.spec.param);
    if (key == "version") good = read_value(value, k.version);
    if (key == "rows") good = read_value(value, head.rows);
    if (key.starts_with("set.")) {
      float number = 0;
      good = read_value(value, number);
      k.spec.settings.emplace_back(key.substr(4), number);
    }
    each_field(k.spec, [&](const char* name, auto& v) {
      if (key == name) good = read_value(value, v);
    });
    require(good, Error::Kind::data, "'", file, "' describes its table by the line '", line,
            "', which this version does not know");
  }
  return head;
}

void put_number(const TableStore::Sink& sink, uint64_t n) {
  sink({reinterpret_cast<const char*>(&n), sizeof n});
}

class Reading {
 public:
  Reading(const TableStore::Source& source, const std::string& file)
      : source_(source), file_(file) {}
  void bytes(std::span<char> to) {
    require(source_(to), Error::Kind::data, "'", file_, "' ends too early: it is damaged");
  }
  uint64_t number(uint64_t most) {
    uint64_t n = 0;
    bytes({reinterpret_cast<char*>(&n), sizeof n});
    require(n <= most, Error::Kind::data, "'", file_, "' has a part of ", n,
            " bytes: it is damaged");
    return n;
  }

 private:
  const TableStore::Source& source_;
  const std::string& file_;
};

// Ends the dump whatever happens.
struct Dump {
  explicit Dump(Table& t) : table(t) { table.begin_dump(); }
  ~Dump() { table.end_dump(); }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  Table& table;
};

}  // namespace

void TableStore::save(const std::string& param, const Sink& sink) {
  const auto it = tables_.find(param);
  require(it != tables_.end(), Error::Kind::config, "the table '", param,
          "' has no value: run the startup program or load a model first");
  const std::string head = head_text(it->second);
  sink(stream_magic);
  put_number(sink, head.size());
  sink(head);
  put_number(sink, checksum64(head.data(), head.size()));
  std::vector<std::byte> part;
  for (Dump dump(*it->second.table); dump.table.dump_part(part);) {
    put_number(sink, part.size());
    sink({reinterpret_cast<const char*>(part.data()), part.size()});
  }
  put_number(sink, 0);
}

void TableStore::load(const std::string& param, const Source& source, const std::string& file) {
  Reading in(source, file);
  std::string magic(stream_magic.size(), ' ');
  in.bytes(magic);
  require(magic == stream_magic, Error::Kind::data, "'", file, "' is no file of a sparse table");
  std::string text(in.number(most_text), ' ');
  in.bytes(text);
  require(in.number(std::numeric_limits<uint64_t>::max()) == checksum64(text.data(), text.size()),
          Error::Kind::data, "'", file, "' is damaged: the checksum of its beginning is wrong");
  const Head head = read_head(text, file);
  const Kept& read = head.kept;
  require(read.spec.param == param, Error::Kind::data, "'", file, "' holds the table '",
          read.spec.param, "', not '", param, "'");
  Kept next = make(read.spec);
  next.version = read.version;
  std::vector<std::byte> part;
  while (const uint64_t bytes = in.number(most_part)) {
    part.resize(bytes);
    in.bytes({reinterpret_cast<char*>(part.data()), part.size()});
    next.table->load_part(part);
  }
  require(next.table->rows() == head.rows, Error::Kind::data, "'", file, "' has ",
          next.table->rows(), " rows, expected ", head.rows, ": it is damaged");
  firsts_[param] = {read.spec.init, read.spec.init_a, read.spec.init_b, read.spec.seed};
  tables_[param] = std::move(next);
  ++generation_;
}

void save_tables(TableStore& store, const Names& tables, const std::string& directory) {
  for (const std::string& name : tables) {
    if (store.find(name) == nullptr) continue;
    const std::string path = directory + "/" + table_file_name(name), aside = path + ".new";
    make_directories(std::filesystem::path(path).parent_path().string());
    std::ofstream file(aside, std::ios::binary);
    if (!file) throw io_error("create", path, errno);
    store.save(name, [&](std::string_view bytes) {
      if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
        throw io_error("write", path, errno);
    });
    file.close();
    if (!file) throw io_error("write", path, errno);
    if (std::rename(aside.c_str(), path.c_str()) != 0) throw io_error("put in place", path, errno);
  }
}

void load_tables(TableStore& store, const Names& tables, const std::string& directory,
                 const std::function<void(const std::string& table)>& missing) {
  for (const std::string& name : tables) {
    const std::string path = directory + "/" + table_file_name(name);
    if (!is_file(path)) {
      require(static_cast<bool>(missing), Error::Kind::data, "the table '", name, "' is not in '",
              directory, "': there is no file '", path, "'");
      missing(name);
      continue;
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) throw io_error("open", path, errno);
    store.load(
        name,
        [&](std::span<char> to) {
          return static_cast<bool>(file.read(to.data(), static_cast<std::streamsize>(to.size())));
        },
        path);
  }
}

}  // namespace paddle
