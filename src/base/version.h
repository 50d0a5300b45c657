#pragma once

namespace seedbed {

/// Version of this program: `0.1.0`.
[[nodiscard]] const char* version();

}  // namespace seedbed
