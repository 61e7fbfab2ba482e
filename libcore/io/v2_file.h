// Parameter files of PaddlePaddle v2: a 16-byte head and the elements. The shape is not in it; in
// v2's tar archives it stands in a description beside the file.
#pragma once

#include <string>

#include "io/binary_reader.h"
#include "io/file_parts.h"
#include "tensor/tensor.h"

namespace paddle {

// The parameter as float32 or float64, in `shape`, which must have as many elements.
// Throws Error(data).
Tensor read_v2_parameter(BinaryReader& in, const Shape& shape);
// Borrows the elements. Throws Error(config) unless they are float32 or float64.
void add_v2_parameter(FileParts& out, const Tensor& tensor);

// The member NAME.protobuf of a tar archive.
struct V2Description {
  std::string name;
  Shape shape;
};
std::string v2_description(const V2Description& parameter);
// `where` names the bytes in the Error(data).
V2Description parse_v2_description(const std::string& bytes, const std::string& where);

}  // namespace paddle
