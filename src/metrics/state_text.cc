#include "metrics/state_text.h"

#include <array>
#include <charconv>

namespace seedbed {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

int hex_digit(char c) {
  const std::size_t at = kHex.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

void StateWriter::separate() {
  if (!out_.empty()) out_ += ' ';
}

void StateWriter::text(std::string_view field) {
  separate();
  if (field.empty()) out_ += '%';
  for (const char c : field) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      out_ += c;
    } else {
      out_ += '%';
      out_ += kHex[byte >> 4];
      out_ += kHex[byte & 15];
    }
  }
}

void StateWriter::number(std::uint64_t field) {
  separate();
  out_ += std::to_string(field);
}

void StateWriter::rest(std::string_view fields) {
  separate();
  out_ += fields;
}

void StateWriter::real(double field) {
  separate();
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), field);
  out_.append(buffer.data(), end.ptr);
}

std::string_view StateReader::next() {
  if (!ok_ || rest_.empty()) {
    ok_ = false;
    return {};
  }
  const std::size_t end = rest_.find(' ');
  const std::string_view field = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (field.empty()) ok_ = false;
  return field;
}

std::string StateReader::text() {
  const std::string_view field = next();
  if (field == "%") return {};
  std::string out;
  out.reserve(field.size());
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '%') {
      out += field[i];
      continue;
    }
    const int high = i + 2 < field.size() ? hex_digit(field[i + 1]) : -1;
    const int low = i + 2 < field.size() ? hex_digit(field[i + 2]) : -1;
    if (high < 0 || low < 0) {
      ok_ = false;
      return {};
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string_view StateReader::rest() {
  if (!ok_) return {};
  return std::exchange(rest_, {});
}

std::uint64_t StateReader::number() {
  const std::string_view field = next();
  std::uint64_t value = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), value);
  if (read.ec != std::errc() || read.ptr != field.data() + field.size()) {
    ok_ = false;
    return 0;
  }
  return value;
}

double StateReader::real() {
  const std::string_view field = next();
  double value = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), value);
  if (read.ec != std::errc() || read.ptr != field.data() + field.size()) {
    ok_ = false;
    return 0;
  }
  return value;
}

std::size_t StateReader::count() {
  const std::uint64_t value = number();
  if (value > rest_.size()) ok_ = false;
  return ok_ ? static_cast<std::size_t>(value) : 0;
}

}  // namespace seedbed
