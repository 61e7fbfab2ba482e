#include "sim/world.h"

#include <cstdio>

namespace paddle::sim {

void World::print(const std::string& line) const {
  std::printf("%10.4f  %s\n", seconds_passed(), line.c_str());
}

}  // namespace paddle::sim
