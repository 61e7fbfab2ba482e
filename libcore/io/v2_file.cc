#include "io/v2_file.h"

#include <v2_parameter.pb.h>

namespace paddle {
namespace {

struct V2Head {
  int32_t version;
  uint32_t width;
  uint64_t count;
};
static_assert(sizeof(V2Head) == 16);

constexpr uint64_t max_elements = uint64_t{1} << 48;  // of a parameter whose shape is believed

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

std::string v2_description(const V2Description& parameter) {
  v2::ParameterConfig record;
  record.set_name(parameter.name);
  record.set_size(static_cast<uint64_t>(parameter.shape.numel()));
  if (parameter.shape.rank() < 2) record.add_dims(1);  // a vector is one row there
  for (const int64_t length : parameter.shape) record.add_dims(static_cast<uint64_t>(length));
  return record.SerializeAsString();
}

V2Description parse_v2_description(const std::string& bytes, const std::string& where) {
  v2::ParameterConfig record;
  require(record.ParseFromString(bytes), Error::Kind::data, "'", where,
          "' is no description of a v2 parameter: it is no protobuf record, or it is cut short");
  require(!record.name().empty() && record.dims_size() > 0, Error::Kind::data, "'", where,
          "' lacks the name or the shape of the parameter");
  require(record.dims_size() <= Shape::max_rank, Error::Kind::data, "'", where, "' describes ",
          record.dims_size(), " dimensions; at most ", Shape::max_rank, " are possible");
  V2Description out{record.name(), {}};
  // Biases are vectors here, and one row there.
  const bool bias = record.dims_size() == 2 && record.dims(0) == 1 && out.name.ends_with(".wbias");
  uint64_t left = max_elements;
  for (int i = bias ? 1 : 0; i < record.dims_size(); ++i) {
    require(record.dims(i) > 0 && record.dims(i) <= left, Error::Kind::data, "'", where,
            "' describes a dimension of ", record.dims(i), " elements");
    left /= record.dims(i);
    out.shape.append(static_cast<int64_t>(record.dims(i)));
  }
  return out;
}

}  // namespace paddle
