#include "store/wal_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace seedbed {
namespace {

constexpr std::uint64_t kHeaderBytes = 32;
constexpr std::uint64_t kFrameHeaderBytes = 24;

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::optional<std::string> describe_wal_tail(const std::string& path, std::uint64_t frames) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  if (size == 0) return std::nullopt;
  if (size < kHeaderBytes) {
    return fmt::format("{} bytes of an unfinished record were dropped", size);
  }
  std::array<char, kHeaderBytes> header{};
  file.seekg(0);
  file.read(header.data(), header.size());
  const std::uint64_t page = big_endian(header.data() + 8);
  const std::uint64_t accepted = kHeaderBytes + frames * (kFrameHeaderBytes + page);
  if (!file || page == 0 || size <= accepted) return std::nullopt;

  std::array<char, kFrameHeaderBytes> frame{};
  file.seekg(static_cast<std::streamoff>(accepted));
  file.read(frame.data(), frame.size());
  const auto got = static_cast<std::uint64_t>(file.gcount());
  const std::uint64_t rest = size - accepted;
  const bool zeros = std::all_of(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(got),
                                 [](char c) { return c == 0; });
  if (zeros) return fmt::format("{} bytes that are no record were passed over", rest);
  const bool of_this_use =
      got < 16 || std::equal(frame.begin() + 8, frame.begin() + 16, header.begin() + 16);
  if (!of_this_use) return std::nullopt;
  return fmt::format("an unfinished record ({} bytes) was dropped", rest);
}

}  // namespace seedbed
