// Fluid's tensor files, byte for byte: what its `save` op writes and its `load` op reads. The
// layout stands in schemas/README.md.
#pragma once

#include <ostream>
#include <string>

#include "io/binary_reader.h"
#include "io/file_parts.h"
#include "tensor/tensor.h"

namespace paddle {

// The next LoDTensor or SelectedRows of a stream. Nothing in it is believed: memory is taken only
// after the sizes it names were found in the file. Throws Error(data) with file, offset, what was
// expected and what was found.
Tensor read_tensor(BinaryReader& in);
SelectedRows read_selected_rows(BinaryReader& in);

// Adds a stream to a file. The elements are borrowed: the tensor must outlive `out`.
// Throws Error(config) for a tensor without a value.
void add_tensor(FileParts& out, const Tensor& tensor);
void add_selected_rows(FileParts& out, const SelectedRows& rows);

// What stands in front of the elements, in a LoDTensor behind its LoD and in SelectedRows behind
// the height: for a writer that has the elements nowhere in one piece.
std::string plain_tensor_head(DType dtype, const Shape& shape);

}  // namespace paddle
