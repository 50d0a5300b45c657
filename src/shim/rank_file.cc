#include "shim/rank_file.h"

#include <charconv>
#include <vector>

namespace seedbed::shim {
namespace {

bool take_word(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& rest, int& number) {
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (read.ec != std::errc() || number < 0) return false;
  rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
  return true;
}

std::optional<RankFacts::End> parse_end(std::string_view line) {
  RankFacts::End end;
  if (!take_word(line, "rank ") || !take_number(line, end.rank)) return std::nullopt;
  if (take_word(line, " signalled ")) {
    end.kind = OutcomeKind::signalled;
  } else if (!take_word(line, " exited ")) {
    return std::nullopt;
  }
  if (!take_number(line, end.code) || !line.empty()) return std::nullopt;
  return end;
}

}  // namespace

RankFacts parse_rank_facts(std::string_view text) {
  RankFacts facts;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!facts.first_end) facts.first_end = parse_end(line);
    if (take_word(line, "library ")) facts.foreign_library = line;
  }
  return facts;
}

std::string rank_end_line(const RankFacts::End& end) {
  return "rank " + std::to_string(end.rank) + " " + std::string(outcome_word(end.kind)) + " " +
         std::to_string(end.code) + "\n";
}

std::string foreign_library_line(const std::string& path) { return "library " + path + "\n"; }

}  // namespace seedbed::shim
