// What a model computed for a batch, as text: one line for each record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/kernel.h"

namespace paddle {

enum class PredictionForm { csv, json };

struct Prediction {
  std::string name;
  const View* view = nullptr;  // one row per record, or a sequence per record
};

// "prediction.0,prediction.1\n"; a sequence has one column.
std::string prediction_header(const std::vector<Prediction>& outputs);

// Adds `samples` lines. `first` is the number of the first record, from 1, for the words of errors.
// Throws Error(config) for an output that has no part for each record, Error(numeric) for NaN and
// Inf.
void add_predictions(const std::vector<Prediction>& outputs, int64_t samples, uint64_t first,
                     PredictionForm form, std::string& to);

}  // namespace paddle
