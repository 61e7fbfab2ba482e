#include "data/datasets.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"

namespace paddle {
namespace {

// The roots as the user thinks of them, for messages.
std::vector<std::string> roots(const ReaderSpec& spec) {
  std::vector<std::string> out;
  if (!spec.data_dir.empty()) out.push_back(spec.data_dir);
  if (!spec.data_home.empty()) out.push_back(spec.data_home);
  if (!spec.home.empty()) out.push_back(spec.home + "/.cache/paddle/dataset");
  return out;
}

bool is_file(const std::string& path) {
  std::error_code none;  // a place that cannot be looked into has no file for us
  return std::filesystem::is_regular_file(path, none);
}

bool has_wildcard(const std::string& name) {
  return name.find_first_of("*?[") != std::string::npos;
}

// The files that `pattern` stands for, by name, so that every trainer has them in one order.
std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      if (is_file(found.gl_pathv[i])) out.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  std::sort(out.begin(), out.end());
  return out;
}

// As it stands, else in the first directory that has such files.
std::vector<std::string> find_matches(const std::string& pattern, const std::string& set,
                                      const ReaderSpec& spec) {
  std::vector<std::string> out = matches(pattern);
  if (!out.empty() || pattern.starts_with('/')) return out;
  for (const std::string& place : dataset_places(set, spec))
    if (out = matches(place + "/" + pattern); !out.empty()) break;
  return out;
}

}  // namespace

std::vector<std::string> dataset_places(const std::string& set, const ReaderSpec& spec) {
  std::vector<std::string> out;
  for (const std::string& root : roots(spec)) {
    out.push_back(root);
    if (!set.empty()) out.push_back(root + "/" + set);
  }
  return out;
}

std::optional<std::string> find_dataset(const std::string& set, const std::string& file,
                                        const ReaderSpec& spec) {
  for (const std::string& place : dataset_places(set, spec))
    for (const char* end : {"", ".gz", ".xz", ".zst"})
      if (std::string path = place + "/" + file + end; is_file(path)) return path;
  return std::nullopt;
}

std::vector<std::string> resolve_files(const std::vector<std::string>& files,
                                       const std::string& set, const ReaderSpec& spec) {
  std::vector<std::string> out;
  for (const std::string& file : files) {
    if (is_file(file)) {
      out.push_back(file);
    } else if (const auto found = find_dataset(set, file, spec)) {
      out.push_back(*found);
    } else if (const auto many =
                   has_wildcard(file) ? find_matches(file, set, spec) : std::vector<std::string>{};
               !many.empty()) {
      out.insert(out.end(), many.begin(), many.end());
    } else {
      const auto places = roots(spec);
      throw Error(Error::Kind::io, "there is no data file ", has_wildcard(file) ? "like " : "",
                  file, places.empty() ? "" : ", nor is it in " + joined(places, ", "),
                  "; check the path or give --data_dir");
    }
  }
  return out;
}

std::string not_found(const std::string& set, const std::string& file, const ReaderSpec& spec) {
  const auto places = roots(spec);
  return text(set, ": no file ", file,
              places.empty() ? " (nowhere to look: no data_dir)" : " in " + joined(places, ", "));
}

}  // namespace paddle
