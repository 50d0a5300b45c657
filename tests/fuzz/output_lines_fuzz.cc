#include <cstdint>
#include <cstdlib>

#include "metrics/explain.h"
#include "metrics/parser_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seedbed;
  static const std::vector<CaptureSpec> patterns = {{"", R"(score (?P<score>\S+))", ""},
                                                    {"", R"(at (?P<step>\d+)( x (?P<x>\S+))?)", ""},
                                                    {"", "", "lost|NaN"}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Patterns are compiled anew in each round, which is slow: one input in eight.
  const bool with_patterns = size > 0 && data[0] % 8 == 7;
  const std::vector<CaptureSpec> capture = with_patterns ? patterns : std::vector<CaptureSpec>();
  if (!check_parser(SourceFormat::output_lines, capture, text).empty()) std::abort();
  if (!explain_lines(text, {})) std::abort();
  return 0;
}
