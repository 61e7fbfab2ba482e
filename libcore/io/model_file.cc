#include "io/model_file.h"

#include <algorithm>

#include "base/file.h"
#include "io/binary_reader.h"
#include "io/model_records.h"
#include "io/program_check.h"

namespace paddle {

using namespace framework::proto;

namespace {

void read_version(Program& program, const ProgramDesc& record) {
  program.version_field = record.has_version() ? 4 : record.has_version_until_1_5() ? 2 : 0;
  program.version = program.version_field == 4   ? record.version().version()
                    : program.version_field == 2 ? record.version_until_1_5().version()
                                                 : 0;
}

// The record of a program without its blocks, made of what was carried along and our own fields.
ProgramDesc program_record(const Program& program) {
  ProgramDesc out = carried<ProgramDesc>(program.foreign);
  out.clear_blocks();
  if (program.version_field == 4) out.mutable_version()->set_version(program.version);
  if (program.version_field == 2) out.mutable_version_until_1_5()->set_version(program.version);
  return out;
}

BlockDesc block_record(const Block& block) {
  BlockDesc out = carried<BlockDesc>(block.foreign);
  out.clear_vars();
  out.clear_ops();
  out.set_idx(block.idx());
  out.set_parent_idx(block.parent_idx());
  if (block.forward_block_idx != -1 || out.has_forward_block_idx())
    out.set_forward_block_idx(block.forward_block_idx);
  return out;
}

// What our own fields would lose of a record. `own` is the record they give.
template <class Record>
std::string rest_of(const Record& record, const Record& own) {
  std::string bytes = record.SerializePartialAsString();
  return bytes == own.SerializePartialAsString() ? std::string() : bytes;
}

void read_blocks(Program& program, ProgramDesc& desc) {
  const auto count = static_cast<size_t>(desc.blocks_size());
  for (size_t i = 0; i < count; ++i) {
    BlockDesc& from = *desc.mutable_blocks(static_cast<int>(i));
    require(from.idx() == static_cast<int64_t>(i), Error::Kind::data, "block ", i,
            " says that it is block ", from.idx());
    check_block(i, from.parent_idx(), from.forward_block_idx(), count);
    if (i > 0) program.append_block(from.parent_idx());
    Block& block = program.block(static_cast<int32_t>(i));
    block.forward_block_idx = from.forward_block_idx();
    for (const VarDesc& v : from.vars()) add_var(block, var_of(v));
    for (const OpDesc& op : from.ops()) block.adopt(op_of(op, count));
    from.clear_vars();
    from.clear_ops();
    block.foreign = rest_of(from, block_record(block));
  }
}

}  // namespace

Program read_program(std::string_view bytes, std::string_view name) {
  const std::string kind = BinaryReader(bytes, std::string(name)).kind();
  const std::string hint = kind.empty() || kind == "text"
                               ? "; this is not a saved Fluid program"
                               : "; this is not a saved Fluid program, it looks like " + kind;
  require(bytes.size() <= max_model_bytes, Error::Kind::data, "'", name, "' has ", bytes.size(),
          " bytes, expected at most ", max_model_bytes, hint);
  ProgramDesc desc;
  require(desc.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())),
          Error::Kind::data, "'", name, "' is broken or cut short", hint);
  require(desc.blocks_size() > 0, Error::Kind::data, "'", name, "' holds no block", hint);
  require(desc.IsInitialized(), Error::Kind::data, "'", name, "' lacks ", first_missing(desc),
          hint);
  try {
    Program program;
    read_blocks(program, desc);
    read_version(program, desc);
    desc.clear_blocks();
    program.foreign = rest_of(desc, program_record(program));
    return program;
  } catch (Error& e) {
    throw e.within("reading the program '", name, "'");
  }
}

ProgramDesc record_of(const Program& program) {
  ProgramDesc out = program_record(program);
  for (size_t i = 0; i < program.num_blocks(); ++i) {
    const Block& block = program.block(static_cast<int32_t>(i));
    BlockDesc& to = *out.add_blocks();
    to = block_record(block);
    for (const auto& v : block.vars()) *to.add_vars() = record_of(*v);
    for (const auto& op : block.ops()) *to.add_ops() = record_of(*op);
  }
  return out;
}

std::string write_program(const Program& program) { return record_of(program).SerializeAsString(); }

Program load_program(const std::string& path) {
  return read_program(read_file(path, max_model_bytes), path);
}

void save_program(const std::string& path, const Program& program) {
  write_file_atomically(path, write_program(program));
}

}  // namespace paddle
