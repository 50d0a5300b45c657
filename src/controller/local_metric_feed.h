#pragma once

#include <memory>
#include <string>

#include "controller/ports.h"
#include "study/study_spec.h"

namespace seedbed {

/// Follows the files of attempts on this machine's disks. The error is a capture pattern that does
/// not compile.
[[nodiscard]] Result<std::unique_ptr<MetricFeed>> make_local_metric_feed(const StudySpec& spec,
                                                                         std::string study_dir,
                                                                         std::string working_dir);

}  // namespace seedbed
