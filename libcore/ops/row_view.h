// Selected rows as kernels of arithmetic take them.
#pragma once

#include "graph/kernel.h"
#include "kernels/memory.h"
#include "kernels/rows.h"

namespace paddle {

inline int64_t row_width(const View& v) { return v.shape.product(1, v.shape.rank()); }

// The output names the same rows as the input.
inline void copy_rows(const Run& r, const View& from, View& to) {
  copy(r, from.shape[0], to.row_buffer, from.rows);
  to.rows = to.row_buffer;
}

// Throws Error(data) if an id lies outside of the table.
inline void check_rows(const Run& r, const View& v) {
  const int64_t bad = first_bad_id(r, v.rows, v.shape[0], v.height);
  if (bad >= 0)
    throw Error(Error::Kind::data, "row ", bad, " of ", v.shape, " names row ",
                read_one(r, v.rows + bad), " of a table of ", v.height, " rows");
}

}  // namespace paddle
