// The halves of a cut travel and are saved like any other program.
#include <catch2/catch.hpp>

#include "graph/transpile.h"
#include "io/model_file.h"
#include "io/program_buffer.h"
#include "io/sample.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "layers/schedules.h"

using namespace paddle;

TEST_CASE("the halves of a cut come back from their forms", "[io]") {
  Net net;
  const Builder b(net);
  data(b, "x", {6});
  minimize(b, mean(b, fc(b, "x", 4)), Optimizer("adam", exponential_decay(b, 0.1f, 2, 0.5f)));
  const Cut cut = transpile(net.main, net.startup,
                            {.trainers = 2, .endpoints = {"a:1", "b:1"}, .min_block_size = 4});
  std::vector<const Program*> programs = {&cut.trainer};
  for (const Program& p : cut.pservers) programs.push_back(&p);
  for (const Program& p : cut.startups) programs.push_back(&p);
  for (const Program* p : programs) {
    CHECK(same_program(*p, from_flatbuffer(to_flatbuffer(*p))));
    const std::string model = write_program(*p);
    CHECK(write_program(read_program(model)) == model);
  }
  const Program back = read_program(write_program(cut.pservers[1]));
  const Op &listen = *back.global().ops()[0], &first = *cut.pservers[1].global().ops()[0];
  CHECK(listen.attrs.get<BlockRefs>("optimize_blocks") ==
        first.attrs.get<BlockRefs>("optimize_blocks"));
  CHECK(listen.attrs.get<BlockRefs>("optimize_blocks").indices.size() >= 2);
  CHECK(listen.attrs.get<Strings>("grad_to_block_id") ==
        first.attrs.get<Strings>("grad_to_block_id"));
}
