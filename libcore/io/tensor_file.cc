#include "io/tensor_file.h"

#include <framework.pb.h>

#include <algorithm>

#include "base/file.h"

namespace paddle {
namespace {

using framework::proto::VarType;

constexpr uint64_t max_lod_levels = 16;  // Fluid's own programs use at most 3
constexpr int32_t max_desc_bytes = 1024;

std::string not_a_tensor_file(const BinaryReader& in) {
  return in.kind().empty() ? "; this is not a Fluid tensor file"
                           : "; this is not a Fluid tensor file, it looks like " + in.kind();
}

void read_version(BinaryReader& in, std::string_view what) {
  const uint64_t at = in.offset();
  const auto version = in.number<uint32_t>(what);
  if (version != 0)
    in.fail(at, "expected version 0 of the ", what, ", found ", version, not_a_tensor_file(in));
}

Lod read_lod(BinaryReader& in) {
  const uint64_t at = in.offset();
  const auto levels = in.number<uint64_t>("number of LoD levels");
  if (levels > max_lod_levels)
    in.fail(at, "expected at most ", max_lod_levels, " LoD levels, found ", levels,
            not_a_tensor_file(in));
  Lod lod;
  for (uint64_t level = 0; level < levels; ++level) {
    const uint64_t size_at = in.offset();
    const auto bytes = in.number<uint64_t>("size of a LoD level");
    if (bytes % sizeof(uint64_t) != 0 || bytes == 0 || bytes > in.left())
      in.fail(size_at, "expected LoD level ", level, " of 8-byte offsets within the ", in.left(),
              " bytes left, found a size of ", bytes, not_a_tensor_file(in));
    std::vector<size_t> offsets(bytes / sizeof(uint64_t));
    in.read(offsets.data(), bytes, "LoD offsets");
    lod.push_back(std::move(offsets));
  }
  return lod;
}

VarType::TensorDesc read_desc(BinaryReader& in) {
  const uint64_t at = in.offset();
  const auto size = in.number<int32_t>("size of the tensor description");
  if (size < 2 || size > max_desc_bytes)
    in.fail(at, "expected a tensor description of 2 to ", max_desc_bytes, " bytes, found ", size,
            not_a_tensor_file(in));
  VarType::TensorDesc desc;
  if (!desc.ParsePartialFromString(in.bytes(static_cast<uint64_t>(size), "tensor description")) ||
      !desc.has_data_type())
    in.fail(at + 4, "expected a tensor description (element type and dimensions), found ", size,
            " bytes that are none", not_a_tensor_file(in));
  return desc;
}

// From the second version number on: what LoDTensor and SelectedRows have in common.
Tensor read_plain(BinaryReader& in) {
  read_version(in, "tensor");
  const uint64_t at = in.offset() + 4;
  const VarType::TensorDesc desc = read_desc(in);
  const auto dtype = static_cast<DType>(desc.data_type());
  if (desc.data_type() < 0 || desc.data_type() > 255 || size_of(dtype) == 0)
    in.fail(at, "expected an element type that we can hold, found type number ", desc.data_type(),
            not_a_tensor_file(in));
  if (desc.dims_size() > Shape::max_rank)
    in.fail(at, "expected at most ", Shape::max_rank, " dimensions, found ", desc.dims_size());
  const Shape shape(
      std::span<const int64_t>(desc.dims().data(), static_cast<size_t>(desc.dims_size())));
  uint64_t bytes = size_of(dtype);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const int64_t dim : shape) {
    if (dim < 0) in.fail(at, "expected dimensions of 0 or more, found ", shape);
    if (!empty && __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes))
      in.fail(at, "the shape ", shape, " has more elements than any file");
  }
  if (empty) bytes = 0;
  if (bytes > in.left())
    in.fail(in.offset(), "expected ", bytes, " bytes for a ", name_of(dtype), " tensor of shape ",
            shape, ", found ", in.left(), "; the file is cut short, save or copy it again");
  Tensor tensor(dtype, shape);
  const uint64_t data_at = in.offset();
  in.read(tensor.raw(), bytes, "elements");
  if (dtype == DType::boolean) {  // any other byte would be undefined as a bool
    const auto* values = static_cast<const uint8_t*>(tensor.raw());
    const auto* bad = std::find_if(values, values + bytes, [](uint8_t v) { return v > 1; });
    if (bad != values + bytes)
      in.fail(data_at + static_cast<uint64_t>(bad - values), "expected a bool of 0 or 1, found ",
              static_cast<int>(*bad));
  }
  return tensor;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_plain(FileParts& out, std::string head, const Tensor& tensor) {
  require(!tensor.empty(), Error::Kind::config, "cannot save a tensor that has no value yet");
  out.add(head + plain_tensor_head(tensor.dtype(), tensor.shape()));
  out.borrow(tensor.raw(), tensor.bytes());
}

}  // namespace

std::string plain_tensor_head(DType dtype, const Shape& shape) {
  VarType::TensorDesc desc;
  desc.set_data_type(static_cast<int32_t>(dtype));
  for (const int64_t dim : shape) desc.add_dims(dim);
  const std::string record = desc.SerializeAsString();
  std::string head;
  put(head, uint32_t{0});
  put(head, static_cast<int32_t>(record.size()));
  return head + record;
}

Tensor read_tensor(BinaryReader& in) {
  read_version(in, "LoDTensor");
  const uint64_t lod_at = in.offset();
  Lod lod = read_lod(in);
  Tensor tensor = read_plain(in);
  if (!lod.empty()) {
    try {
      check_lod(lod, tensor.shape().rank() > 0 ? tensor.shape()[0] : 1);
    } catch (const Error& e) {
      in.fail(lod_at, e.what());
    }
    tensor.set_lod(std::move(lod));
  }
  return tensor;
}

SelectedRows read_selected_rows(BinaryReader& in) {
  read_version(in, "SelectedRows");
  const uint64_t at = in.offset();
  const auto count = in.number<uint64_t>("number of rows");
  if (count > in.left() / sizeof(int64_t))
    in.fail(at, "expected a number of rows that fits into the ", in.left(), " bytes left, found ",
            count, not_a_tensor_file(in));
  SelectedRows out;
  out.rows.resize(count);
  in.read(out.rows.data(), count * sizeof(int64_t), "row ids");
  const uint64_t height_at = in.offset();
  out.height = in.number<int64_t>("height");
  if (out.height < 0) in.fail(height_at, "expected a height of 0 or more, found ", out.height);
  for (size_t i = 0; i < out.rows.size(); ++i)
    if (out.rows[i] < 0 || out.rows[i] >= out.height)
      in.fail(at + 8 + i * sizeof(int64_t), "expected a row id below the height ", out.height,
              ", found ", out.rows[i]);
  const uint64_t value_at = in.offset();
  out.value = read_plain(in);
  const Shape& shape = out.value.shape();
  if (shape.rank() < 1 || static_cast<uint64_t>(shape[0]) != count)
    in.fail(value_at, "expected the values of ", count, " rows, found shape ", shape);
  return out;
}

void add_tensor(FileParts& out, const Tensor& tensor) {
  std::string head;
  put(head, uint32_t{0});
  put(head, static_cast<uint64_t>(tensor.lod().size()));
  for (const std::vector<size_t>& level : tensor.lod()) {
    put(head, static_cast<uint64_t>(level.size() * sizeof(uint64_t)));
    for (const size_t offset : level) put(head, static_cast<uint64_t>(offset));
  }
  add_plain(out, std::move(head), tensor);
}

void add_selected_rows(FileParts& out, const SelectedRows& rows) {
  std::string head;
  put(head, uint32_t{0});
  put(head, static_cast<uint64_t>(rows.rows.size()));
  for (const int64_t id : rows.rows) put(head, id);
  put(head, rows.height);
  add_plain(out, std::move(head), rows.value);
}

}  // namespace paddle
