#include "io/v2_file.h"

namespace paddle {
namespace {

struct V2Head {
  int32_t version;
  uint32_t width;
  uint64_t count;
};
static_assert(sizeof(V2Head) == 16);

}  // namespace

Tensor read_v2_parameter(BinaryReader& in, const Shape& shape) {
  const uint64_t at = in.offset();
  const auto head = in.number<V2Head>("a v2 parameter's head");
  if (head.version != 0 || (head.width != 4 && head.width != 8))
    in.fail(at, "expected version 0 and elements of 4 or 8 bytes, found version ", head.version,
            " and ", head.width, " bytes; this is not a v2 parameter file");
  if (static_cast<int64_t>(head.count) != shape.numel())
    in.fail(at + 8, "expected ", shape.numel(), " elements for the shape ", shape, ", found ",
            head.count);
  if (head.count > in.left() / head.width)
    in.fail(in.offset(), "expected ", head.count, " elements of ", head.width, " bytes, found ",
            in.left(), " bytes; the file is cut short, save or copy it again");
  Tensor out(head.width == 4 ? DType::f32 : DType::f64, shape);
  in.read(out.raw(), out.bytes(), "elements");
  in.expect_end("the parameter");
  return out;
}

void add_v2_parameter(FileParts& out, const Tensor& tensor) {
  require(!tensor.empty() && (tensor.dtype() == DType::f32 || tensor.dtype() == DType::f64),
          Error::Kind::config, "a v2 parameter file holds float32 or float64, found ",
          tensor.empty() ? "no value" : name_of(tensor.dtype()));
  const V2Head head{0, static_cast<uint32_t>(size_of(tensor.dtype())),
                    static_cast<uint64_t>(tensor.numel())};
  out.add({reinterpret_cast<const char*>(&head), sizeof head});
  out.borrow(tensor.raw(), tensor.bytes());
}

}  // namespace paddle
