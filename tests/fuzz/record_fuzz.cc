// A record's kind (first line) and body: whatever is decoded must come back the same once written.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/record_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  const auto record = seedbed::decode_record(text.substr(0, line), text.substr(line + 1));
  if (!record) return 0;
  const std::string body = seedbed::encode_record(*record);
  const auto again = seedbed::decode_record(seedbed::record_word(*record), body);
  if (!again || !(seedbed::encode_record(*again) == body)) std::abort();
  return 0;
}
