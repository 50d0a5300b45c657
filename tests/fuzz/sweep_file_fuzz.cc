#include <cstdint>

#include "study/reader_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  seedbed::reader_fuzz::sweep_file({reinterpret_cast<const char*>(data), size});
  return 0;
}
