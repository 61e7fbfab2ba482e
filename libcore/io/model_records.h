// One variable, one op: between our structs and the records of a saved model. Only io/*.cc include
// this, so that protobuf stays inside the module.
#pragma once

#include <framework.pb.h>

#include <string>

#include "graph/program.h"

namespace paddle {

// What a record says that our fields do not hold goes into `foreign`, and comes back from there
// when the record is made again, unless our field was changed since. Throw Error(data).
Var var_of(const framework::proto::VarDesc& record);
Op op_of(const framework::proto::OpDesc& record, size_t blocks);

framework::proto::VarDesc record_of(const Var& var);
framework::proto::OpDesc record_of(const Op& op);
framework::proto::ProgramDesc record_of(const Program& program);

// The record that `foreign` carries; an empty one where it carries none (it may come from a peer).
template <class Record>
Record carried(const std::string& foreign) {
  Record out;
  if (!out.ParsePartialFromString(foreign)) out.Clear();
  return out;
}

// The first required field that is not there: "'type' in op 3 of block 0".
std::string first_missing(const framework::proto::ProgramDesc& program);

}  // namespace paddle
