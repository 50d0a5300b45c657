#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "pruners/rules.h"

namespace seedbed {
namespace {

class NanPruner : public Pruner {
 public:
  Verdict judge(const Curve& trial, const std::vector<const Curve*>& /*peers*/) const override {
    for (const CurvePoint& point : trial.points) {
      if (!std::isnan(point.value)) continue;
      return {true, fmt::format("the metric was NaN at step {} (rule nan)", point.step)};
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Pruner> make_nan_pruner() { return std::make_unique<NanPruner>(); }

}  // namespace seedbed
