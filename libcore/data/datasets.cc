#include "data/datasets.h"

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
    for (const char* end : {"", ".gz", ".xz"})
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
    } else {
      const auto places = roots(spec);
      throw Error(Error::Kind::io, "there is no data file ", file,
                  places.empty() ? "" : ", nor is it in " + joined(places, ", "),
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
