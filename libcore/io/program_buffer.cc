#include "io/program_buffer.h"

#include <program_generated.h>

#include <cinttypes>
#include <cstdio>
#include <unordered_map>

#include "base/random.h"

namespace paddle {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <class T>
using Vectors = std::vector<Offset<T>>;

// Builds the buffer; every text stands in it once.
class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  std::string write() {
    Vectors<fbs::Block> blocks;
    for (size_t i = 0; i < program_.num_blocks(); ++i)
      blocks.push_back(add(program_.block(static_cast<int32_t>(i))));
    const auto all = b_.CreateVector(blocks);
    const auto words = b_.CreateVectorOfStrings(words_);
    const auto foreign = blob(program_.foreign);
    b_.Finish(fbs::CreateProgram(b_, words, all, program_.random_seed, program_.version,
                                 static_cast<uint8_t>(program_.version_field), foreign),
              fbs::ProgramIdentifier());
    return {reinterpret_cast<const char*>(b_.GetBufferPointer()), b_.GetSize()};
  }

 private:
  uint32_t word(const std::string& s) {
    const auto [it, fresh] = index_.emplace(s, static_cast<uint32_t>(words_.size()));
    if (fresh) words_.push_back(s);
    return it->second;
  }
  Offset<flatbuffers::Vector<uint32_t>> words(const Names& names) {
    std::vector<uint32_t> out;
    for (const std::string& n : names) out.push_back(word(n));
    return b_.CreateVector(out);
  }
  Offset<flatbuffers::Vector<uint8_t>> blob(const std::string& s) {
    if (s.empty()) return 0;
    return b_.CreateVector(reinterpret_cast<const uint8_t*>(s.data()), s.size());
  }

  Offset<fbs::Attr> add(const Attrs::Entry& entry);
  Offset<fbs::Param> add(const ParamInfo& p);
  Offset<fbs::Var> add(const Var& v);
  Offset<fbs::Op> add(const Op& op);
  Offset<fbs::Block> add(const Block& block);
  Offset<flatbuffers::Vector<Offset<fbs::Slot>>> add(const Slots& slots);

  const Program& program_;
  FlatBufferBuilder b_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<std::string> words_;
};

Offset<fbs::Attr> Writer::add(const Attrs::Entry& entry) {
  int64_t integer = 0;
  Offset<flatbuffers::Vector<int32_t>> integers;
  Offset<flatbuffers::Vector<int64_t>> longs;
  Offset<flatbuffers::Vector<float>> floats;
  Offset<flatbuffers::Vector<uint32_t>> strings;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, float>)
          floats = b_.CreateVector(&v, 1);
        else if constexpr (std::is_same_v<T, std::string>)
          integer = word(v);
        else if constexpr (std::is_same_v<T, BlockRef>)
          integer = v.index;
        else if constexpr (std::is_same_v<T, BlockRefs>)
          integers = b_.CreateVector(v.indices);
        else if constexpr (std::is_same_v<T, Ints>)
          integers = b_.CreateVector(v);
        else if constexpr (std::is_same_v<T, Bools>)
          integers = b_.CreateVector(Ints(v.begin(), v.end()));
        else if constexpr (std::is_same_v<T, Floats>)
          floats = b_.CreateVector(v);
        else if constexpr (std::is_same_v<T, Strings>)
          strings = words(v);
        else if constexpr (std::is_same_v<T, Longs>)
          longs = b_.CreateVector(v);
        else
          integer = v;
      },
      entry.second);
  return fbs::CreateAttr(b_, word(entry.first), static_cast<uint8_t>(entry.second.index()), integer,
                         integers, longs, floats, strings);
}

Offset<flatbuffers::Vector<Offset<fbs::Slot>>> Writer::add(const Slots& slots) {
  Vectors<fbs::Slot> out;
  for (const auto& [slot, names] : slots) {
    const auto variables = words(names);
    out.push_back(fbs::CreateSlot(b_, word(slot), variables));
  }
  return b_.CreateVector(out);
}

Offset<fbs::Op> Writer::add(const Op& op) {
  const auto in = add(op.in), out = add(op.out);
  Vectors<fbs::Attr> attrs;
  for (const Attrs::Entry& a : op.attrs) attrs.push_back(add(a));
  const auto all = b_.CreateVector(attrs);
  const auto foreign = blob(op.foreign);
  return fbs::CreateOp(b_, word(op.type), in, out, all, op.is_target, foreign);
}

Offset<fbs::Param> Writer::add(const ParamInfo& p) {
  const float numbers[] = {p.learning_rate, p.regularizer.coeff, p.clip.max, p.clip.min};
  const auto values = b_.CreateVector(numbers, std::size(numbers));
  return fbs::CreateParam(b_, p.trainable, p.model_average,
                          static_cast<uint8_t>(p.regularizer.kind),
                          static_cast<uint8_t>(p.clip.kind), word(p.clip.group), values);
}

Offset<fbs::Var> Writer::add(const Var& v) {
  const auto shape = b_.CreateVector(v.shape.begin(), static_cast<size_t>(v.shape.rank()));
  const Offset<fbs::Param> param = v.param ? add(*v.param) : Offset<fbs::Param>();
  const auto foreign = blob(v.foreign);
  return fbs::CreateVar(b_, word(v.name), static_cast<int32_t>(v.kind),
                        static_cast<uint8_t>(v.dtype), shape, v.lod_level, v.persistable,
                        v.stop_gradient, v.need_check_feed, param, foreign);
}

Offset<fbs::Block> Writer::add(const Block& block) {
  Vectors<fbs::Var> vars;
  Vectors<fbs::Op> ops;
  for (const auto& v : block.vars()) vars.push_back(add(*v));
  for (const auto& op : block.ops()) ops.push_back(add(*op));
  const auto all_vars = b_.CreateVector(vars);
  const auto all_ops = b_.CreateVector(ops);
  const auto foreign = blob(block.foreign);
  return fbs::CreateBlock(b_, block.parent_idx(), block.forward_block_idx, all_vars, all_ops,
                          foreign);
}

}  // namespace

std::string to_flatbuffer(const Program& program) { return Writer(program).write(); }

std::string program_digest(const Program& program) {
  Program copy(program);
  copy.foreign.clear();
  for (size_t i = 0; i < copy.num_blocks(); ++i) {
    Block& block = copy.block(static_cast<int32_t>(i));
    block.foreign.clear();
    for (const auto& v : block.vars()) v->foreign.clear();
    for (const auto& op : block.ops()) {
      op->foreign.clear();
      op->attrs.remove(role::callstack_attr);
    }
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, hash_text(to_flatbuffer(copy)));
  return digits;
}

}  // namespace paddle
