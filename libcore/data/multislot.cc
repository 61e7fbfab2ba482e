// MultiSlot text: one record per line; for each slot in order a count and that many values.
#include <charconv>

#include "data/byte_source.h"
#include "data/datasets.h"
#include "data/formats.h"
#include "data/line_format.h"

namespace paddle {
namespace {

class MultislotFormat : public LineFormat {
 public:
  explicit MultislotFormat(std::vector<FieldSpec> slots) : slots_(std::move(slots)) {}

  const std::vector<FieldSpec>& fields() const override { return slots_; }
  bool is_record(std::string_view line) override { return !next_word(line).empty(); }

  void parse(std::string_view line, const LineReader& at, Columns& to) override {
    for (size_t s = 0; s < slots_.size(); ++s) add_slot(s, line, at, to);
    if (const std::string_view more = next_word(line); !more.empty())
      at.fail(text("the end of the line after ", slots_.size(), " slots"), quoted(more),
              "declare all slots of the line, in its order");
  }

 private:
  void add_slot(size_t s, std::string_view& line, const LineReader& at, Columns& to) {
    const FieldSpec& slot = slots_[s];
    const uint64_t count = count_of(slot, line, at);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view word = next_word(line);
      if (word.empty())
        at.fail(text(count, " values for slot ", slot.name), text("the end of the line after ", i),
                "check the count in front of the values");
      if (slot.dtype == DType::f32)
        add_float(s, word, at, to);
      else
        add_id(s, word, at, to);
    }
  }

  // Checked against the line before anything is kept: n values take at least 2n bytes, with their
  // blanks.
  uint64_t count_of(const FieldSpec& slot, std::string_view& line, const LineReader& at) const {
    const std::string_view word = next_word(line);
    int64_t count = 0;
    if (word.empty())
      at.fail("a count for slot " + slot.name, "the end of the line",
              "give a count and values for every slot");
    if (!parse_int(word, count))
      at.fail("a count for slot " + slot.name, quoted(word),
              "check that the slots are declared in the order of the line");
    if (count < 1)
      at.fail("at least one value for slot " + slot.name, text("the count ", count),
              "pad an empty slot in the data generator");
    const auto most = static_cast<int64_t>(line.size() / 2);
    if (count > most)
      at.fail(text("at most ", most, " values for slot ", slot.name, ", as the line has no more"),
              text("the count ", count), "check the count in front of the values");
    if (slot.lod_level == 0 && count != slot.shape.numel())
      at.fail(text(slot.shape.numel(), " values for the dense slot ", slot.name),
              text("the count ", count), "correct the row or the shape of the slot");
    return static_cast<uint64_t>(count);
  }

  void add_float(size_t s, std::string_view word, const LineReader& at, Columns& to) {
    float value = 0;
    if (!parse_float(word, value))
      at.fail("a finite number in slot " + slots_[s].name, quoted(word),
              "correct or remove the row");
    to.add(s, value);
  }

  // Ids are unsigned 64-bit numbers, kept by their bits; a negative one wraps as it always did.
  void add_id(size_t s, std::string_view word, const LineReader& at, Columns& to) {
    int64_t value = 0;
    uint64_t wide = 0;
    if (!parse_int(word, value)) {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), wide);
      if (error != std::errc() || end != word.data() + word.size())
        at.fail("a whole number in slot " + slots_[s].name, quoted(word),
                "correct or remove the row");
      value = static_cast<int64_t>(wide);
    }
    const int64_t bound = slots_[s].bound;
    if (bound >= 0 && (value < 0 || value >= bound))
      at.fail(text("an id from 0 to ", bound - 1, " in slot ", slots_[s].name), quoted(word),
              "correct the row or the bound of the slot");
    to.add(s, value);
  }

  std::vector<FieldSpec> slots_;
};

void check_slots(const std::vector<FieldSpec>& slots) {
  const auto config = Error::Kind::config;
  require(!slots.empty(), config,
          "multislot: no slots are declared; name them in the line's order");
  for (const FieldSpec& slot : slots) {
    require(slot.dtype == DType::f32 || slot.dtype == DType::i64, config, "multislot: slot ",
            slot.name, " is ", name_of(slot.dtype), ", expected float32 or int64");
    require(slot.lod_level == 0 || slot.lod_level == 1, config, "multislot: slot ", slot.name,
            " has lod_level ", slot.lod_level, ", expected 0 or 1");
    require(slot.lod_level == 1 || slot.shape.numel() > 0, config, "multislot: the dense slot ",
            slot.name, " needs a known shape of one sample, found ", slot.shape);
  }
}

}  // namespace

std::unique_ptr<LineFormat> multislot_lines(std::vector<FieldSpec> slots) {
  check_slots(slots);
  return std::make_unique<MultislotFormat>(std::move(slots));
}

namespace {

struct SlotKeys {
  FieldSpec field;

  void declare(Arguments& a) {
    std::optional<DType> dtype;
    Shape shape{};
    a.required("name", field.name, "of the slot");
    a.optional("dtype", dtype, "float32, or int64 (as without it with a lod_level)");
    a.optional("shape", shape, "of one sample; without it 1");
    a.optional("lod_level", field.lod_level, "1 = any number of values");
    a.optional("bound", field.bound, "ids lie in [0, bound); -1 = anything");
    field.dtype = dtype.value_or(field.lod_level > 0 ? DType::i64 : DType::f32);
    field.shape = shape.rank() == 0 ? Shape{1} : shape;
  }
};

std::unique_ptr<Reader> open_multislot(const ReaderSpec& spec, std::vector<FieldSpec> slots) {
  check_slots(slots);
  require(!spec.files.empty(), Error::Kind::config, "multislot: no files are named");
  const std::vector<std::string> files = resolve_files(spec.files, "", spec);
  rename_fields(slots, spec);
  return read_lines(multislot_lines(std::move(slots)), "multislot", {files}, spec);
}

OpenReader declare_multislot(Arguments& a) {
  std::vector<SlotKeys> keys;
  a.optional("slots", keys, "in the order of the line");
  std::vector<FieldSpec> slots;
  for (const SlotKeys& k : keys) slots.push_back(k.field);
  return [slots](const ReaderSpec& spec) { return open_multislot(spec, slots); };
}

}  // namespace

DataFormat multislot_format() {
  return {"multislot", "for each slot in order a count and that many values", declare_multislot};
}

}  // namespace paddle
