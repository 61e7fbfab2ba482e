#include <cstddef>
#include <cstdint>

#include "fuzz/entries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  paddle::fuzz::token_file({reinterpret_cast<const char*>(data), size});
  return 0;
}
