// The description of a sparse table in our own form (schemas/table.fbs): what a trainer sends to
// the shards, and what their snapshots hold.
#pragma once

#include <string>
#include <string_view>

#include "graph/table_spec.h"

namespace paddle {

std::string to_flatbuffer(const TableSpec& spec);

// The description in `bytes`, which may come from anywhere. Throws Error(data) where they are
// damaged or describe no table that can be; whether its rule and settings exist is for the table to
// say.
TableSpec table_spec_of(std::string_view bytes);

}  // namespace paddle
