// Labels of classes, as the losses read them: a hard label is the index of a class, a soft one a
// weight for each class.
#pragma once

#include "kernels/class_loss.h"
#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {

// The hard labels of `rows` rows of `classes` classes; throws Error(data) where one is no class.
inline ClassLabels checked_labels(const Run& r, const View& label, int64_t rows, int64_t classes,
                                  int64_t ignore, const char* op) {
  const ClassLabels labels{label.as<const int64_t>(), ignore};
  const int64_t row = first_bad_label(r, labels, rows, classes);
  if (row < 0) [[likely]]
    return labels;
  const int64_t l = read_one(r, labels.at + row);
  throw Error(
      Error::Kind::data, "op ", op, ": the label ", l, " of row ", row, " is outside of [0, ",
      classes, "): there are ", classes,
      " classes; correct the data, give the last layer more outputs, or set ignore_index to ", l,
      " to leave such rows out");
}

// The op's type as it stands in the table of definitions, which outlives every kernel.
inline const char* type_of(const Bind& b) { return op_def(b.op().type).type.c_str(); }

// Fails unless Label fits to the classes of `x` along `axis`; returns the shape of the loss.
inline Shape check_label(const Infer& i, std::string_view x, int axis, bool soft) {
  const Shape &given = i.shape(x), &label = i.shape("Label");
  Shape one = given;
  one[axis] = 1;
  if (soft) {
    i.check_same(x, "Label");
    i.check(i.dtype("Label") == i.dtype(x), "a soft Label must be ", name_of(i.dtype(x)), " as ", x,
            ", found ", name_of(i.dtype("Label")));
    return one;
  }
  // Newer programs leave the last dimension of 1 away.
  const bool short_form =
      axis == given.rank() - 1 && label.compatible(given.slice(0, given.rank() - 1));
  i.check(label.compatible(one) || short_form, "the shape of ", i.describe("Label"), " must be ",
          one, " for ", i.describe(x), " (set soft_label for one weight per class)");
  i.check(i.dtype("Label") == DType::i64, "Label (", i.op().in["Label"][0],
          ") must be int64, found ", name_of(i.dtype("Label")));
  return one;
}

}  // namespace paddle
