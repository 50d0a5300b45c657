#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/exit_record_text.h"
#include "protocol/message.h"
#include "protocol/slot_file.h"

// What the readers of this room must do with any bytes: answer, never crash, and give back what
// they have read when it is written and read again. Used by the fuzzers and by the tests that
// replay their corpora.

namespace seedbed::protocol_fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// The bytes with a checksum that fits, or no fuzzer would ever come past it.
inline std::string with_checksum(std::string_view lines) {
  std::string text(lines);
  if (!text.ends_with('\n')) text += '\n';
  char digits[17];
  std::uint64_t left = text_checksum(text);
  for (int i = 15; i >= 0; --i, left >>= 4) digits[i] = "0123456789abcdef"[left & 15];
  return text + "check=" + std::string(digits, 16) + "\n";
}

inline void exit_record(std::string_view data) {
  for (const std::string& text : {std::string(data), with_checksum(data)}) {
    const auto read = decode_exit_record(text);
    if (!read) continue;
    const auto again = decode_exit_record(encode_exit_record(*read));
    require(again.has_value() && *again == *read);
  }
}

inline void slot_file(std::string_view data) {
  for (const std::string& text : {std::string(data), with_checksum(data)}) {
    const auto read = decode_slot_file(text);
    if (!read) continue;
    const auto written = encode_slot_file(*read);
    if (!written) continue;  // longer than a slot file may be
    const auto again = decode_slot_file(*written);
    require(again.has_value() && *again == *read);
  }
}

/// As a payload, and as a stream of frames that is cut where the first byte says.
inline void message(std::string_view data) {
  const auto read = decode_message(data);
  if (read) {
    const std::string frame = encode_message(*read);
    const auto again = decode_message(std::string_view(frame).substr(4));
    require(again.has_value() && *again == *read);
  }
  if (data.empty()) return;
  const std::size_t cut = static_cast<unsigned char>(data[0]) % data.size();
  FrameBuffer whole, parts;
  whole.feed(data);
  parts.feed(data.substr(0, cut));
  std::string first, second;
  while (const auto payload = whole.next()) first += std::string(*payload) + "|";
  while (const auto payload = parts.next()) second += std::string(*payload) + "|";
  parts.feed(data.substr(cut));
  while (const auto payload = parts.next()) second += std::string(*payload) + "|";
  require(first == second && whole.bad() == parts.bad());
}

}  // namespace seedbed::protocol_fuzz
