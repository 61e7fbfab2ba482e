#include <string>
#include <vector>

#include "base/run_main.h"
#include "pserver/pserver.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return paddle::run_main("paddle_pserver", [&] { return paddle::pserver_main(words); });
}
