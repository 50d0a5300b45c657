#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seedbed {

/// What a parameter's value is. The order is the sort order of kinds in tables.
enum class ValueKind {
  absent,     ///< the option is left out; not the same as empty or null
  null,       ///< `~`, `null` or nothing; reaches the program as `None`
  boolean,    ///< only unquoted true/True/TRUE and false/False/FALSE
  integer,    ///< plain decimal: -?(0|[1-9][0-9]*)
  real,       ///< plain decimal with a point or an exponent: 1e-3, .5, 5., 1.10
  text,       ///< every other scalar: 007, 0x10, 1_000, nan, no, off, quoted ones
  structure,  ///< a list or a map as one value; text is its JSON
};

[[nodiscard]] std::string_view kind_word(ValueKind kind);
[[nodiscard]] std::optional<ValueKind> kind_from_word(std::string_view word);

/// How deep lists and maps may nest within one value. The readers of sweep files and words refuse
/// more, so that every value they take can also be written into the record and read back from it,
/// where a few levels of the file stand around it.
inline constexpr int kMaxNesting = 50;

/// Longest key within such a value, in bytes: written as JSON, with escapes, it must stay below the
/// 1,024 characters that YAML allows for a key.
inline constexpr std::size_t kMaxKeyBytes = 128;

/// One value with the spelling the user typed. Equality is identity: (kind, canonical form), so
/// `1e-3` == `0.001`, `1` != `1.0`, and the text `1` != the integer `1`. Zero has no sign: `-0.0`
/// == `0.0`. Digits are compared as decimals, never rounded through a double. Immutable.
class Value {
 public:
  Value() = default;  ///< absent

  /// Reads an unquoted scalar by the rules above. A decimal beyond the range of a double (`1e999`)
  /// or with an absurd exponent is a word.
  [[nodiscard]] static Value from_plain(std::string_view spelling);
  [[nodiscard]] static Value from_text(std::string_view text);  ///< quoted: always text
  [[nodiscard]] static Value absent() { return Value(); }
  [[nodiscard]] static Value null();
  [[nodiscard]] static Value boolean(bool value);
  [[nodiscard]] static Value integer(std::int64_t value);
  /// Printed short (`0.3`, not `0.30000000000000004`); finite only. Always kind real: 1 is `1.0`.
  [[nodiscard]] static Value real(double value);
  /// A list or map; `spelling` reaches the program, `canonical_json` is compared.
  [[nodiscard]] static Value structure(std::string spelling, std::string canonical_json);
  /// What records keep: kind and spelling (and canonical JSON for a structure) give the value back.
  [[nodiscard]] static Value restore(ValueKind kind, std::string_view spelling,
                                     std::string_view canonical_json = {});

  [[nodiscard]] ValueKind kind() const { return kind_; }
  /// As typed: `1e-3`; `True`/`False` for booleans, `None` for null, nothing for absent.
  [[nodiscard]] const std::string& spelling() const { return spelling_; }
  /// `i:1`, `r:1e-3` normalised to digits and exponent, `t:...`: equal exactly when the values are.
  [[nodiscard]] const std::string& canonical() const { return canonical_; }
  /// The number, for integer and real (and 0/1 for booleans); nothing otherwise.
  [[nodiscard]] std::optional<double> number() const;
  /// The exact number of an integer that fits; nothing otherwise.
  [[nodiscard]] std::optional<std::int64_t> exact_integer() const;
  /// The JSON of a structure; empty for every other kind.
  [[nodiscard]] std::string_view canonical_json() const;
  [[nodiscard]] bool is_number() const {
    return kind_ == ValueKind::integer || kind_ == ValueKind::real;
  }
  [[nodiscard]] bool is_absent() const { return kind_ == ValueKind::absent; }

  friend bool operator==(const Value& a, const Value& b) { return a.canonical_ == b.canonical_; }
  /// Numbers by value, text by bytes, kinds by their order: the sort of tables.
  friend bool operator<(const Value& a, const Value& b);

 private:
  Value(ValueKind kind, std::string spelling, std::string canonical);

  ValueKind kind_ = ValueKind::absent;
  std::string spelling_;
  std::string canonical_ = "-";
};

}  // namespace seedbed
