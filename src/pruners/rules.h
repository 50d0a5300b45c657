#pragma once

#include <memory>

#include "pruners/pruner.h"

// One constructor per rule; make_pruner.cc knows the names and checks the options.

namespace seedbed {

/// `nan`: stops a trial whose objective is NaN at any step. Infinities are values and are kept.
[[nodiscard]] std::unique_ptr<Pruner> make_nan_pruner();

struct MedianOptions {
  std::size_t min_iter = 1;    ///< fewest values the trial must have reported; >= 1
  std::size_t min_trials = 5;  ///< fewest completed trials with a value at the step; >= 1
};

/// `median`: see median.cc for the exact rule.
[[nodiscard]] std::unique_ptr<Pruner> make_median_pruner(const MedianOptions& options, Goal goal);

}  // namespace seedbed
