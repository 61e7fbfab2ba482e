// Where the files of known data sets are searched for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/reader.h"

namespace paddle {

// The directories that may hold the set `set`, in order: DIR and DIR/<set> of each of data_dir,
// data_home and
// ~/.cache/paddle/dataset.
std::vector<std::string> dataset_places(const std::string& set, const ReaderSpec& spec);

// The path of `file`, or of it with .gz or .xz behind, in the first of these directories that has
// it.
std::optional<std::string> find_dataset(const std::string& set, const std::string& file,
                                        const ReaderSpec& spec);

// The files a user named: as they stand, else searched for like a set. Throws Error(io) with the
// places looked in.
std::vector<std::string> resolve_files(const std::vector<std::string>& files,
                                       const std::string& set, const ReaderSpec& spec);

// The first half of Reader::source(): "mnist: no file train-images-idx3-ubyte in A, B".
std::string not_found(const std::string& set, const std::string& file, const ReaderSpec& spec);

}  // namespace paddle
