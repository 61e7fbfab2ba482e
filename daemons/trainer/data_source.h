// The readers of a job: which records, and which input each field goes to.
#pragma once

#include <memory>

#include "data/reader.h"
#include "options/options.h"
#include "trainer/job_file.h"
#include "trainer/model.h"

namespace paddle {

// The part of a data set to read.
enum class Part { train, test };

// Which records: every trainer of a job reads its own.
struct DataShare {
  uint32_t trainer = 0, trainers = 1;
};

// Opens the job's data, shuffled for training; fields are named by the inputs that they feed.
// Throws Error(config) where fields and inputs do not fit each other.
std::unique_ptr<Reader> open_data(const JobFile& file, const Model& model, const Options& options,
                                  const std::string& home, Part part, const DataShare& share = {});

// Throws Error(config) for what is wrong with the job's data section whatever the files hold.
void check_data(const JobFile& file);

// Whether the job has test data.
bool has_test_data(const JobFile& file);

}  // namespace paddle
