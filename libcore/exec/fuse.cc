#include "exec/fuse.h"

namespace paddle {

std::vector<Op> fuse_ops(std::vector<Op> ops, const Block&, const Scope&, const Names&,
                         const Names&) {
  return ops;
}

}  // namespace paddle
