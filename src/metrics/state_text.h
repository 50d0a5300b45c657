#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// The opaque state of a parser or follower: fields in order, one blank between them, printable
// ASCII only (it is kept in a database and in JSON). Within a field blanks, `%` and bytes outside
// 0x21-0x7e are written `%XX`; an empty field is `%`. Numbers are decimal (integers) or the
// shortest text that reads back as the same double.

namespace seedbed {

class StateWriter {
 public:
  void text(std::string_view field);
  void number(std::uint64_t field);
  void real(double field);             ///< finite or not
  void rest(std::string_view fields);  ///< a whole other state, as the last thing
  void flag(bool field) { number(field ? 1 : 0); }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate();
  std::string out_;
};

/// Reads the fields back. After the first field that is not what was asked for, everything is
/// empty or zero and `ok()` is false.
class StateReader {
 public:
  explicit StateReader(std::string_view state) : rest_(state) {}

  [[nodiscard]] std::string text();
  [[nodiscard]] std::string_view rest();
  [[nodiscard]] std::uint64_t number();
  [[nodiscard]] double real();
  [[nodiscard]] bool flag() { return number() != 0; }
  /// A count of things that follow, each at least one field: never more than could be there.
  [[nodiscard]] std::size_t count();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  [[nodiscard]] std::string_view next();
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace seedbed
