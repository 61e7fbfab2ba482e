// MNIST: idx files of images and labels. Pixels stay bytes in memory and become floats in the
// batch.
#include <array>

#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/generate.h"

namespace paddle {
namespace {

constexpr uint32_t image_magic = 2051, label_magic = 2049;
constexpr int64_t digits = 10, largest_image = 1 << 20;

struct Images {
  int64_t width = 784;  // pixels of one image
  std::vector<uint8_t> pixels, labels;
};

class ImageRecords : public Records {
 public:
  ImageRecords(std::vector<FieldSpec> fields, Images images)
      : Records(std::move(fields)), images_(std::move(images)) {
    for (size_t p = 0; p < scale_.size(); ++p)
      scale_[p] = static_cast<float>(p) / 255.0f * 2.0f - 1.0f;
  }
  int64_t size() const override { return static_cast<int64_t>(images_.labels.size()); }

  void gather(std::span<const uint32_t> rows, Batch& batch) const override {
    const auto n = static_cast<int64_t>(rows.size());
    Shape shape{n};
    for (const int64_t dim : fields_[0].shape) shape.append(dim);
    batch.fields[0].resize(DType::f32, shape);
    batch.fields[1].resize(DType::i64, {n, 1});
    auto* out = batch.fields[0].data<float>();
    auto* label = batch.fields[1].data<int64_t>();
    for (const uint32_t row : rows) {
      const uint8_t* pixels = images_.pixels.data() + row * images_.width;
      for (int64_t i = 0; i < images_.width; ++i) *out++ = scale_[pixels[i]];
      *label++ = images_.labels[row];
    }
  }

 private:
  Images images_;
  std::array<float, 256> scale_;
};

// An idx file: big-endian 32-bit words, then bytes.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path), bytes_(open_bytes(path)) {}

  uint32_t word(const char* what) {
    std::array<char, 4> b;
    require(read(b) == b.size(), Error::Kind::data, path_, ": expected the ", what,
            ", found the end of the file; the file is incomplete, fetch it again");
    uint32_t value = 0;
    for (const char c : b) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  void magic(uint32_t expected, const char* what) {
    const uint32_t found = word("magic number");
    const bool swapped = found == image_magic || found == label_magic;
    require(found == expected, Error::Kind::data, path_, ": expected the magic number ", expected,
            " of ", what, ", found ", found, "; ",
            swapped ? "name the image file first and the label file second"
                    : "this is no idx file of bytes");
  }
  // Exactly `n` bytes and then the end. Memory grows with what is really there, not with what the
  // header says.
  std::vector<uint8_t> body(uint64_t n) {
    std::vector<uint8_t> out;
    while (out.size() < n) {
      const size_t at = out.size();
      out.resize(at + std::min<uint64_t>(n - at, uint64_t{1} << 20));
      const size_t got = read({reinterpret_cast<char*>(out.data()) + at, out.size() - at});
      require(at + got == out.size(), Error::Kind::data, path_, ": expected ", n,
              " bytes after the header, found only ", at + got,
              "; the file is incomplete, fetch it again");
    }
    char more;
    require(read({&more, 1}) == 0, Error::Kind::data, path_, ": expected ", n,
            " bytes after the header, found more; the header and the data do not belong together");
    return out;
  }

 private:
  size_t read(std::span<char> to) {
    size_t n = 0;
    while (n < to.size()) {
      const size_t got = bytes_->read(to.subspan(n));
      if (got == 0) break;
      n += got;
    }
    return n;
  }
  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
};

Images read_images(const std::string& path, const std::string& label_path, uint64_t limit) {
  IdxFile images(path), labels(label_path);
  images.magic(image_magic, "images");
  const uint32_t n = images.word("number of images");
  const uint64_t rows = images.word("number of rows"), columns = images.word("number of columns");
  require(rows > 0 && columns > 0 && rows * columns <= largest_image, Error::Kind::data, path,
          ": expected images of 1 to 2^20 pixels, found ", rows, " x ", columns,
          "; the header is damaged");
  MemoryBudget(limit).take((rows * columns + 1) * n, path);
  labels.magic(label_magic, "labels");
  const uint32_t n_labels = labels.word("number of labels");
  require(n_labels == n, Error::Kind::data, label_path, ": expected ", n,
          " labels, one for each image of ", path, ", found ", n_labels,
          "; take both files from the same set");
  Images out{static_cast<int64_t>(rows * columns), images.body(rows * columns * n), labels.body(n)};
  for (size_t i = 0; i < out.labels.size(); ++i)
    require(out.labels[i] < digits, Error::Kind::data, label_path,
            ": expected labels 0 to 9, found ", int{out.labels[i]}, " at record ", i,
            "; the file is damaged or not of MNIST");
  return out;
}

std::unique_ptr<Reader> open_mnist(const ReaderSpec& spec, const Shape& image_shape) {
  std::vector<std::string> files = resolve_files(spec.files, "mnist", spec);
  const std::string part = spec.test ? "t10k" : "train";
  if (files.empty()) {
    const auto images = find_dataset("mnist", part + "-images-idx3-ubyte", spec);
    const auto labels = find_dataset("mnist", part + "-labels-idx1-ubyte", spec);
    if (images && labels) files = {*images, *labels};
  }
  require(files.empty() || files.size() == 2, Error::Kind::config,
          "mnist reads two files, images and labels, found ", files.size());
  Images images;
  if (files.empty()) {
    Digits drawn =
        spec.test ? generate_digits(spec.seed, 6000, 1000) : generate_digits(spec.seed, 0, 6000);
    images = {784, std::move(drawn.pixels), std::move(drawn.labels)};
  } else {
    images = read_images(files[0], files[1], spec.memory_limit);
    require_records(static_cast<int64_t>(images.labels.size()), files[0]);
  }
  const Shape shape = image_shape.rank() == 0 ? Shape{images.width} : image_shape;
  require(shape.numel() == images.width, Error::Kind::config, "image_shape ", shape,
          " does not hold the ", images.width, " pixels of an image");
  std::vector<FieldSpec> fields{{"img", DType::f32, shape}, {"label", DType::i64, {1}, 0, digits}};
  rename_fields(fields, spec);
  auto records = std::make_unique<ImageRecords>(std::move(fields), std::move(images));
  const int64_t n = records->size();
  std::string source = files.empty() ? text(not_found("mnist", part + "-images-idx3-ubyte", spec),
                                            ": ", n, " records generated from seed ", spec.seed)
                                     : text("mnist: ", n, " records from ", files[0]);
  return read_records(std::move(records), spec, std::move(source), files.empty());
}

OpenReader declare_mnist(Arguments& a) {
  Shape image_shape{};
  a.optional("image_shape", image_shape, "shape of one image, as [1, 28, 28]; without it one row");
  return [image_shape](const ReaderSpec& spec) { return open_mnist(spec, image_shape); };
}

}  // namespace

DataFormat mnist_format() {
  return {"mnist", "idx files of images and labels: the images first, the labels second",
          declare_mnist};
}

}  // namespace paddle
