#pragma once

#include <filesystem>
#include <system_error>

namespace seedbed {

/// Calls `take` with each entry of a folder, `Iterator` decides how deep. What cannot be entered
/// or read is left out: the loop over a range would throw there.
template <typename Iterator, typename Take>
void each_entry(const std::filesystem::path& folder, const Take& take) {
  std::error_code error;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (Iterator at(folder, options, error), end; !error && at != end; at.increment(error)) {
    take(*at);
  }
}

}  // namespace seedbed
