#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// How messages travel on a stream socket. A frame is a length (u32, little endian, of what
// follows), a type (u8) and fields; a field is a tag (u8), a length (u32) and that many bytes.
// Numbers are 8 bytes, little endian. A tag may repeat (lists). Readers skip tags they do not know,
// so fields can be added; a frame over kMaxFrame ends the connection.

namespace seedbed {

inline constexpr std::size_t kMaxFrame = std::size_t{8} << 20;

/// Writes one frame.
class WireWriter {
 public:
  explicit WireWriter(std::uint8_t type) {
    frame_.assign(4, '\0');
    frame_ += static_cast<char>(type);
  }

  void text(std::uint8_t tag, std::string_view bytes) {
    frame_ += static_cast<char>(tag);
    append(bytes.size(), 4);
    frame_.append(bytes);
  }
  void number(std::uint8_t tag, std::uint64_t value) {
    frame_ += static_cast<char>(tag);
    append(8, 4);
    append(value, 8);
  }

  /// The frame; empty when it is over kMaxFrame.
  [[nodiscard]] std::string finish() && {
    const std::size_t length = frame_.size() - 4;
    if (length > kMaxFrame) return {};
    for (std::size_t i = 0; i < 4; ++i) frame_[i] = static_cast<char>(length >> (8 * i) & 0xff);
    return std::move(frame_);
  }

 private:
  void append(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) frame_ += static_cast<char>(value >> (8 * i) & 0xff);
  }

  std::string frame_;
};

struct WireField {
  std::uint8_t tag = 0;
  std::string_view bytes;

  /// 0 when the field is not a number.
  [[nodiscard]] std::uint64_t number() const {
    if (bytes.size() != 8) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return value;
  }
};

/// Reads what one frame holds.
class WireReader {
 public:
  explicit WireReader(std::string_view payload) : rest_(payload) {
    if (rest_.empty()) {
      broken_ = true;
      return;
    }
    type_ = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
  }

  [[nodiscard]] std::uint8_t type() const { return type_; }
  /// The payload did not end where its lengths say.
  [[nodiscard]] bool broken() const { return broken_; }

  /// Nothing at the end, or when the payload is broken.
  [[nodiscard]] std::optional<WireField> next() {
    if (rest_.empty() || broken_) return std::nullopt;
    if (rest_.size() < 5) return stop();
    WireField field;
    field.tag = static_cast<std::uint8_t>(rest_[0]);
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length |= static_cast<std::size_t>(static_cast<unsigned char>(rest_[1 + i])) << (8 * i);
    }
    rest_.remove_prefix(5);
    if (length > rest_.size()) return stop();
    field.bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return field;
  }

 private:
  std::optional<WireField> stop() {
    broken_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  std::uint8_t type_ = 0;
  bool broken_ = false;
};

/// Cuts the bytes of a stream, in pieces of any size, into payloads.
class FrameBuffer {
 public:
  void feed(std::string_view bytes) {
    if (start_ > 0 && start_ == bytes_.size()) {
      bytes_.clear();
      start_ = 0;
    }
    bytes_.append(bytes);
  }

  /// The next whole payload, valid until `feed`; nothing when there is none yet, or ever: `bad()`.
  [[nodiscard]] std::optional<std::string_view> next() {
    const std::string_view rest = std::string_view(bytes_).substr(start_);
    if (bad_ || rest.size() < 4) return std::nullopt;
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length |= static_cast<std::size_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
    }
    if (length == 0 || length > kMaxFrame) {
      bad_ = true;
      return std::nullopt;
    }
    if (rest.size() - 4 < length) {
      if (start_ > 0) {
        bytes_.erase(0, start_);
        start_ = 0;
      }
      return std::nullopt;
    }
    start_ += 4 + length;
    return std::string_view(bytes_).substr(start_ - length, length);
  }

  /// A length that no frame of ours has: the stream cannot be read any further.
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  std::string bytes_;
  std::size_t start_ = 0;
  bool bad_ = false;
};

}  // namespace seedbed
