#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedbed {

/// Reads a size: `4GiB`, `100MB`, `512k`, `1.5G`, plain bytes. MB = 10^6, MiB = 2^20; a bare letter
/// (`4G`) is binary, as in Slurm and Docker. Refuses negative and overflowing sizes.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);

/// `4.0 GiB`, `812 KiB`, `17 B`: for people.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace seedbed
