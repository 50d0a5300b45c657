#include <cstdint>
#include <cstdlib>

#include "metrics/parser_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seedbed;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!check_parser(SourceFormat::csv, {}, text).empty()) std::abort();
  if (!check_parser(SourceFormat::tsv, {}, text).empty()) std::abort();
  return 0;
}
