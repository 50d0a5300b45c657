#pragma once

#include <string>

#include "base/ids.h"
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
};

}  // namespace seedbed
