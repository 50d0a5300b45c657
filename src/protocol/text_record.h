#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

// The text form of small records that live in files: lines `key=value`, the first one
// `KIND=VERSION`, the last one `check=HEX` over all bytes before it, so that a file that was cut,
// mixed or written by somebody else is recognised. In values `\`, line feed and carriage return
// are escaped (`\\`, `\n`, `\r`); other bytes stand as they are. Readers skip unknown keys; a
// version grows only when old readers must not go on. Header-only and without allocation tricks:
// the static shim uses it too.

namespace seedbed {

/// FNV-1a, 64 bits. Finds accidents, not forgeries.
[[nodiscard]] constexpr std::uint64_t text_checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

class TextRecordWriter {
 public:
  TextRecordWriter(std::string_view kind, int version) { add(kind, version); }

  void add(std::string_view key, std::string_view value) {
    text_.append(key);
    text_ += '=';
    for (const char byte : value) {
      if (byte == '\\') {
        text_ += "\\\\";
      } else if (byte == '\n') {
        text_ += "\\n";
      } else if (byte == '\r') {
        text_ += "\\r";
      } else {
        text_ += byte;
      }
    }
    text_ += '\n';
  }

  template <typename Number>
  requires std::is_integral_v<Number>
  void add(std::string_view key, Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    add(key, std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
  }

  /// The whole text.
  [[nodiscard]] std::string finish() && {
    char digits[17];
    std::uint64_t left = text_checksum(text_);
    for (int i = 15; i >= 0; --i, left >>= 4) digits[i] = "0123456789abcdef"[left & 15];
    text_ += "check=";
    text_.append(digits, 16);
    text_ += '\n';
    return std::move(text_);
  }

 private:
  std::string text_;
};

/// A checked text, as keys and unescaped values in their order.
class TextRecord {
 public:
  /// Errors: `damaged`, saying whether the text is foreign, cut or changed, or of a newer version.
  [[nodiscard]] static Result<TextRecord> parse(std::string_view text, std::string_view kind,
                                                int version) {
    const std::size_t check = text.rfind("check=");
    const bool begins =
        text.starts_with(kind) && text.size() > kind.size() && text[kind.size()] == '=';
    if (!begins) return damaged("is not a record of this kind");
    if (check == std::string_view::npos || check == 0 || text[check - 1] != '\n' ||
        text.size() - check != 6 + 16 + 1 || text.back() != '\n') {
      return damaged("is cut short");
    }
    std::uint64_t sum = 0;
    const char* digits = text.data() + check + 6;
    if (std::from_chars(digits, digits + 16, sum, 16).ptr != digits + 16 ||
        sum != text_checksum(text.substr(0, check))) {
      return damaged("was changed or cut (its checksum does not fit)");
    }
    TextRecord record;
    std::string_view rest = text.substr(0, check);
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);  // every line before `check` ends in a line feed
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) return damaged("has a line without `=`");
      record.fields_.emplace_back(line.substr(0, equals), unescape(line.substr(equals + 1)));
    }
    const auto written = record.number<int>(kind);
    if (!written || *written < 1) return damaged("has no version");
    if (*written > version) return damaged("was written by a newer seedbed; use that one");
    return record;
  }

  /// The first value of that key; empty when there is none.
  [[nodiscard]] std::string_view text(std::string_view key) const {
    for (const auto& [name, value] : fields_) {
      if (name == key) return value;
    }
    return {};
  }

  /// Nothing when the key is missing or its value is not exactly a number in range.
  template <typename Number>
  [[nodiscard]] std::optional<Number> number(std::string_view key) const {
    const std::string_view value = text(key);
    Number result{};
    const auto read = std::from_chars(value.data(), value.data() + value.size(), result);
    if (value.empty() || read.ec != std::errc() || read.ptr != value.data() + value.size()) {
      return std::nullopt;
    }
    return result;
  }

 private:
  static tl::unexpected<Error> damaged(const char* what) { return fail(ErrorCode::damaged, what); }

  static std::string unescape(std::string_view value) {
    std::string plain;
    plain.reserve(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i] != '\\' || i + 1 == value.size()) {
        plain += value[i];
        continue;
      }
      ++i;
      plain += value[i] == 'n' ? '\n' : value[i] == 'r' ? '\r' : value[i];
    }
    return plain;
  }

  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace seedbed
