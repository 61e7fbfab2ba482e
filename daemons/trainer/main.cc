#include <string>
#include <vector>

#include "base/run_main.h"
#include "trainer/trainer.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return paddle::run_main("paddle_trainer",
                          [&] { return paddle::trainer_main(words, "paddle_trainer"); });
}
