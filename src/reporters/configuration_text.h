#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "study/point.h"

namespace seedbed {

/// `lr=0.01 h=64`, without the seed, cut to so many columns.
[[nodiscard]] std::string configuration_text(const Point& point, std::string_view seed_parameter,
                                             std::size_t most_columns);

}  // namespace seedbed
