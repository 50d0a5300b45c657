#pragma once

namespace seedbed {

/// Reports a broken invariant of ours on standard error and ends the process with exit code 70.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace seedbed

/// An invariant of ours. Stays on in release builds: a wrong record is worse than a stopped
/// controller, whose trials go on in their shims.
#define SEEDBED_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::seedbed::check_failed(#condition, __FILE__, __LINE__))
