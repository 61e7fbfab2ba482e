#include <program_generated.h>

#include <cstring>

#include "io/program_buffer.h"
#include "io/program_check.h"

namespace paddle {
namespace {

constexpr auto kind = Error::Kind::data;

// Program, block, op, attribute, and one to spare.
constexpr flatbuffers::uoffset_t max_depth = 5;
// More text than this, however often it is named, is no program.
constexpr size_t max_text = 256u << 20;

// Reads a verified buffer. What the verifier cannot see is checked here: numbers of kinds and
// types, indices, and that tables and vectors are not shared so often that a small buffer becomes a
// large program: an undamaged one is never longer, element by element, than its bytes.
class Reader {
 public:
  Reader(const fbs::Program& from, size_t bytes) : from_(from), elements_left_(bytes) {}

  Program read() {
    const size_t count = from_.blocks()->size();
    require(count > 0, kind, "the program holds no block");
    require(from_.version_field() == 0 || from_.version_field() == 2 || from_.version_field() == 4,
            kind, "the program's version stands in field ", int{from_.version_field()},
            ", expected 0, 2 or 4");
    Program out;
    out.random_seed = from_.random_seed();
    out.version = from_.version();
    out.version_field = from_.version_field();
    out.foreign = blob(from_.foreign());
    for (size_t i = 0; i < count; ++i) {
      const fbs::Block& block = *from_.blocks()->Get(static_cast<flatbuffers::uoffset_t>(i));
      check_block(i, block.parent(), block.forward(), count);
      if (i > 0) out.append_block(block.parent());
      read_block(out.block(static_cast<int32_t>(i)), block, count);
    }
    return out;
  }

 private:
  void spend(size_t elements) {
    require(elements <= elements_left_, kind, "the program's parts are shared beyond reason");
    elements_left_ -= elements;
  }

  std::string word(uint32_t index) {
    const auto* words = from_.text();
    require(index < words->size(), kind, "the program names text ", index, " of ", words->size());
    const flatbuffers::String& s = *words->Get(index);
    require(s.size() <= text_left_, kind, "the program holds more than ", max_text,
            " bytes of text");
    text_left_ -= s.size();
    return s.str();
  }

  // Copied as bytes: the verifier does not see to the alignment of elements.
  template <class T>
  std::vector<T> list(const flatbuffers::Vector<T>* v) {
    if (v == nullptr) return {};
    spend(v->size());
    std::vector<T> out(v->size());
    if (!out.empty()) std::memcpy(out.data(), v->Data(), out.size() * sizeof(T));
    return out;
  }
  std::string blob(const flatbuffers::Vector<uint8_t>* v) {
    const std::vector<uint8_t> bytes = list(v);
    return {bytes.begin(), bytes.end()};
  }
  Names names(const flatbuffers::Vector<uint32_t>* v) {
    Names out;
    for (const uint32_t index : list(v)) out.push_back(word(index));
    return out;
  }

  Attr value(const fbs::Attr& a);
  void read_slots(Slots& to, const std::string& op,
                  const flatbuffers::Vector<flatbuffers::Offset<fbs::Slot>>* from);
  ParamInfo param(const fbs::Param& p);
  Var var(const fbs::Var& v);
  void read_block(Block& to, const fbs::Block& from, size_t blocks);

  const fbs::Program& from_;
  size_t elements_left_, text_left_ = max_text;
};

Attr Reader::value(const fbs::Attr& a) {
  const auto small = [&] {
    const int64_t v = a.integer();
    require(v >= INT32_MIN && v <= INT32_MAX, kind, "an attribute holds ", v,
            ", which is no 32-bit number");
    return static_cast<int32_t>(v);
  };
  switch (a.type()) {
    case 0: return small();
    case 1: {
      const Floats one = list(a.floats());
      require(one.size() == 1, kind, "an attribute holds ", one.size(), " numbers, expected one");
      return one[0];
    }
    case 2: {
      const int64_t index = a.integer();
      require(index >= 0 && index <= UINT32_MAX, kind, "an attribute names text ", index);
      return word(static_cast<uint32_t>(index));
    }
    case 3: return list(a.integers());
    case 4: return list(a.floats());
    case 5: return names(a.strings());
    case 6: return a.integer() != 0;
    case 7: {
      const Ints v = list(a.integers());
      return Bools(v.begin(), v.end());
    }
    case 8: return BlockRef{small()};
    case 9: return a.integer();
    case 10: return BlockRefs{list(a.integers())};
    case 11: return list(a.longs());
    default:
      throw Error(kind, "an attribute has type number ", int{a.type()}, ", expected 0 to 11");
  }
}

void Reader::read_slots(Slots& to, const std::string& op,
                        const flatbuffers::Vector<flatbuffers::Offset<fbs::Slot>>* from) {
  if (from == nullptr) return;
  for (const fbs::Slot* s : *from) add_slot(to, op, word(s->name()), names(s->variables()));
}

ParamInfo Reader::param(const fbs::Param& p) {
  const Floats numbers = list(p.numbers());
  require(numbers.size() == 4 && p.regularizer() <= 2 && p.clip() <= 3, kind,
          "the program describes a parameter in a way that we do not know");
  return {.trainable = p.trainable(),
          .learning_rate = numbers[0],
          .regularizer = {static_cast<Regularizer::Kind>(p.regularizer()), numbers[1]},
          .clip = {static_cast<GradientClip::Kind>(p.clip()), numbers[2], numbers[3],
                   word(p.clip_group())},
          .model_average = p.model_average()};
}

Var Reader::var(const fbs::Var& from) {
  Var v;
  v.name = word(from.name());
  v.kind = static_cast<VarKind>(from.kind());
  v.dtype = static_cast<DType>(from.dtype());
  const Longs dims = list(from.shape());
  require(size_of(v.dtype) > 0, kind, "the variable '", v.name, "' has type number ",
          int{from.dtype()});
  require(dims.size() <= Shape::max_rank, kind, "the variable '", v.name, "' has ", dims.size(),
          " dimensions, expected at most ", Shape::max_rank);
  v.shape = Shape(std::span<const int64_t>(dims));
  for (const int64_t dim : dims)
    require(dim >= -1, kind, "the variable '", v.name, "' has the shape ", v.shape);
  v.lod_level = from.lod_level();
  v.persistable = from.persistable();
  v.stop_gradient = from.stop_gradient();
  v.need_check_feed = from.need_check_feed();
  if (from.param() != nullptr) v.param = param(*from.param());
  v.foreign = blob(from.foreign());
  return v;
}

void Reader::read_block(Block& to, const fbs::Block& from, size_t blocks) {
  to.forward_block_idx = from.forward();
  to.foreign = blob(from.foreign());
  if (from.vars() != nullptr)
    for (const fbs::Var* v : *from.vars()) add_var(to, var(*v));
  if (from.ops() == nullptr) return;
  for (const fbs::Op* o : *from.ops()) {
    Op op;
    op.type = word(o->type());
    read_slots(op.in, op.type, o->inputs());
    read_slots(op.out, op.type, o->outputs());
    if (o->attrs() != nullptr)
      for (const fbs::Attr* a : *o->attrs())
        add_attr(op.attrs, op.type, word(a->name()), value(*a), blocks);
    op.is_target = o->is_target();
    op.foreign = blob(o->foreign());
    to.adopt(std::move(op));
  }
}

}  // namespace

Program from_flatbuffer(std::span<const std::byte> bytes) {
  require(bytes.size() <= max_program_buffer, kind, "a program of ", bytes.size(),
          " bytes was given, expected at most ", max_program_buffer);
  require(bytes.size() >= 16, kind, "a program of ", bytes.size(), " bytes is cut short");
  // The generated code reads numbers in place: they must stand where the machine wants them.
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* start = reinterpret_cast<const uint8_t*>(aligned.data());
  // The smallest table takes 8 bytes, so an undamaged buffer has fewer than this.
  flatbuffers::Verifier verifier(start, bytes.size(), max_depth,
                                 static_cast<flatbuffers::uoffset_t>(bytes.size() / 8 + 1));
  require(fbs::VerifyProgramBuffer(verifier), kind,
          "the bytes are no program of ours, or were damaged on the way");
  return Reader(*fbs::GetProgram(start), bytes.size()).read();
}

}  // namespace paddle
