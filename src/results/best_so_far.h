#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "study/point.h"
#include "study/study_spec.h"

namespace seedbed {

/// The best of the present space by the last value of the study's metric: what best() says of a
/// snapshot without options, for a line of the status.
struct BestSoFar {
  std::string metric;
  Goal goal = Goal::minimize;
  double value = 0;               ///< of the trial, or the mean over the seeds
  TrialNumber trial = 0;          ///< the best one; of a configuration the best of its trials
  bool of_configuration = false;  ///< configurations were compared
  Point configuration;            ///< then: its parameters without the seed
  std::uint64_t n = 0;            ///< trials that make the mean
  bool incomplete = false;        ///< a seed is missing
};

}  // namespace seedbed
