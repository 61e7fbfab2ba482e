#include "io/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "io/binary_reader.h"
#include "io/sealed.h"

namespace paddle {
namespace {

constexpr auto state_name = "train_state";
constexpr auto done_name = "done";
constexpr uint64_t max_state_bytes = 64u << 20;

FileRecord record_of(const std::string& name, const FileParts& parts) {
  FileRecord r{name, 0, 0};
  for (const std::string_view v : parts.views()) {
    r.bytes += v.size();
    r.crc32 = checksum(v.data(), v.size(), r.crc32);
  }
  return r;
}

FileRecord write_stream(const AtomicDirectory& out, const StreamedFile& stream) {
  check_file_name(stream.name);
  const std::string path = out.temporary() + "/" + stream.name;
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  make_directories(above.string());
  std::ofstream file(path, std::ios::binary);
  if (!file) throw io_error("create", out.path() + "/" + stream.name, errno);
  FileRecord r{stream.name, 0, 0};
  stream.content([&](std::string_view bytes) {
    if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
      throw io_error("write", out.path() + "/" + stream.name, errno);
    r.bytes += bytes.size();
    r.crc32 = checksum(bytes.data(), bytes.size(), r.crc32);
  });
  file.close();
  if (!file) throw io_error("write", out.path() + "/" + stream.name, errno);
  return r;
}

// "" where the file is what it was when it was written.
std::string damage(const std::string& directory, const FileRecord& record) {
  try {
    check_file_name(record.name);
    BinaryReader in(directory + "/" + record.name);
    if (in.left() != record.bytes)
      return text("'", in.name(), "' has ", in.left(), " bytes, expected ", record.bytes);
    uint32_t sum = 0;
    std::string buffer;
    while (in.left() > 0) {
      buffer.resize(std::min<uint64_t>(in.left(), 1 << 20));
      in.read(buffer.data(), buffer.size(), "contents");
      sum = checksum(buffer.data(), buffer.size(), sum);
    }
    if (sum != record.crc32)
      return text("'", in.name(), "' was changed since it was saved (its checksum is wrong)");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

void check_files(const std::string& directory, const std::vector<FileRecord>& files) {
  std::string problems;
  for (const FileRecord& f : files)
    if (const std::string d = damage(directory, f); !d.empty()) problems += "\n  " + d;
  require(problems.empty(), Error::Kind::data, "the checkpoint '", directory,
          "' is damaged; go back to the one before it:", problems);
}

// Digits only, at least `width` of them.
bool is_number(std::string_view s, size_t width) {
  return s.size() >= width &&
         std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_pass_name(std::string_view name) {
  if (name.substr(0, 5) != "pass-") return false;
  name.remove_prefix(5);
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return is_number(name, 5);
  return is_number(name.substr(0, dash), 5) && is_number(name.substr(dash + 1), 3);
}

// A save within a pass comes before the one at its end; longer numbers are larger.
bool earlier(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    const size_t dash = name.find('-', 5);
    const std::string pass = name.substr(5, dash == std::string::npos ? dash : dash - 5);
    const std::string part = dash == std::string::npos ? "" : name.substr(dash + 1);
    return std::tuple(pass.size(), pass, part.empty(), part.size(), part);
  };
  return key(a) < key(b);
}

}  // namespace

std::string pass_name(uint64_t pass, std::optional<uint64_t> part) {
  char out[64];
  if (part)
    std::snprintf(out, sizeof out, "pass-%05llu-%03llu", static_cast<unsigned long long>(pass),
                  static_cast<unsigned long long>(*part));
  else
    std::snprintf(out, sizeof out, "pass-%05llu", static_cast<unsigned long long>(pass));
  return out;
}

void save_checkpoint(const std::string& directory, const VarList& vars, const ValueSource& values,
                     const TrainState& state, std::string_view done,
                     const std::map<std::string, std::string>& others,
                     const std::vector<StreamedFile>& streams) {
  for (const Var* v : vars)
    require(v->name != state_name && v->name != done_name, Error::Kind::config, "the variable '",
            v->name, "' has the name of a file that every checkpoint holds; rename it");
  AtomicDirectory out(directory);
  std::vector<FileRecord> files;
  save_vars(out, vars, values, "", [&](const std::string& name, const FileParts& parts) {
    files.push_back(record_of(name, parts));
  });
  for (const auto& [name, content] : others) {
    out.write(name, content);
    files.push_back({name, content.size(), checksum(content.data(), content.size())});
  }
  for (const StreamedFile& s : streams) files.push_back(write_stream(out, s));
  out.write(state_name, write_train_state(state, files));
  out.commit(done);
}

std::optional<TrainState> load_checkpoint(const std::string& directory, const VarList& vars,
                                          const ValueSink& sink) {
  require(is_directory(directory), Error::Kind::io, "there is no checkpoint '", directory,
          "'; name a directory that a training has saved, such as output/pass-00000");
  std::optional<TrainState> state;
  const std::string path = directory + "/" + state_name;
  const bool has_state = is_file(path);
  const bool is_checkpoint =
      has_state || is_pass_name(std::filesystem::path(directory).filename().string());
  require(!is_checkpoint || is_file(directory + "/" + done_name), Error::Kind::data,
          "the checkpoint '", directory,
          "' has no file 'done': it was not finished; use the one before it");
  if (has_state) {
    std::vector<FileRecord> files;
    state = read_train_state(read_file(path, max_state_bytes), path, &files);
    check_files(directory, files);
  }
  load_vars(directory, vars, sink);
  return state;
}

std::vector<std::string> list_checkpoints(const std::string& save_dir) {
  std::vector<std::string> out;
  if (!is_directory(save_dir)) return out;
  for (const std::string& name : list_directory(save_dir))
    if (is_pass_name(name) && is_file(save_dir + "/" + name + "/" + done_name)) out.push_back(name);
  std::sort(out.begin(), out.end(), earlier);
  return out;
}

}  // namespace paddle
