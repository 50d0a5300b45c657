#include <cstdint>

#include "protocol/protocol_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  seedbed::protocol_fuzz::message({reinterpret_cast<const char*>(data), size});
  return 0;
}
