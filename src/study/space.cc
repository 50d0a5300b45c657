#include "study/space.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "study/space_plan.h"

namespace seedbed {
namespace {

constexpr std::size_t kLocalDigits = 32;

// Digits of an index, on the stack for spaces of usual size.
class Digits {
 public:
  explicit Digits(std::size_t count) {
    if (count > kLocalDigits) heap_.resize(count);
    data_ = count > kLocalDigits ? heap_.data() : local_;
  }
  Digits(const Digits&) = delete;
  Digits& operator=(const Digits&) = delete;
  std::uint64_t& operator[](std::size_t i) { return data_[i]; }
  [[nodiscard]] const std::uint64_t* data() const { return data_; }

 private:
  std::uint64_t local_[kLocalDigits];
  std::vector<std::uint64_t> heap_;
  std::uint64_t* data_;
};

std::uint64_t scaled(double unit, std::uint64_t size) {
  const auto index = static_cast<std::uint64_t>(unit * static_cast<double>(size));
  return std::min(index, size - 1);
}

std::uint64_t draw_index(const SpaceAxis& axis, double unit) {
  if (axis.cumulative.empty()) return scaled(unit, axis.size);
  const double target = unit * axis.cumulative.back();
  const auto found = std::upper_bound(axis.cumulative.begin(), axis.cumulative.end(), target);
  const auto index = static_cast<std::uint64_t>(found - axis.cumulative.begin());
  return std::min(index, axis.size - 1);
}

}  // namespace

bool Dimension::finite() const {
  return !values.empty() || (distribution && distribution->finite());
}

std::uint64_t Dimension::size() const {
  if (!values.empty()) return values.size();
  return distribution && distribution->finite() ? distribution->size() : 0;
}

Value Dimension::at(std::uint64_t index) const {
  SEEDBED_CHECK(index < size());
  return values.empty() ? distribution->at(index) : values[static_cast<std::size_t>(index)];
}

Result<bool> holds_at(const Expression& expression, const Point& point, std::string_view role) {
  Result<bool> result = expression.holds([&](std::string_view name) { return point.find(name); });
  if (!result) {
    std::string place;
    for (const Parameter& parameter : point.parameters) {
      place += (place.empty() ? "" : " ") + parameter.name + "=" + parameter.value.spelling();
    }
    return tl::unexpected<Error>(
        result.error().with_context(std::string(role) + " (at " + one_line(place, 100) + ")"));
  }
  return result;
}

Point raw_point(const SpaceBranch& branch, const BranchPlan& plan, const std::uint64_t* digits) {
  Point point;
  point.parameters.reserve(plan.names.size());
  if (branch.explicit_rows) {
    const auto& row = branch.explicit_rows->rows[static_cast<std::size_t>(digits[0])];
    point.parameters.assign(row.begin(), row.end());
    point.parameters.reserve(row.size() + branch.dimensions.size());
  }
  for (std::size_t i = 0; i < branch.dimensions.size(); ++i) {
    const Dimension& dimension = branch.dimensions[i];
    const std::uint64_t digit = digits[plan.axis_of[i]];
    Parameter& parameter = point.parameters.emplace_back();
    parameter.name = dimension.name;
    if (dimension.values.empty()) {
      parameter.value = dimension.distribution->at(digit);
    } else {
      parameter.value = dimension.values[static_cast<std::size_t>(digit)];
    }
  }
  return point;
}

Result<std::optional<Point>> filtered_point(const SpaceBranch& branch, const BranchPlan& plan,
                                            const std::uint64_t* digits, Point point,
                                            bool drop_repeats) {
  if (!plan.when_order.empty()) {
    const std::size_t rows = point.parameters.size() - branch.dimensions.size();
    std::vector<bool> exists(branch.dimensions.size(), true);
    const auto lookup = [&](std::string_view name) -> const Value* {
      for (std::size_t i = 0; i < point.parameters.size(); ++i) {
        if (point.parameters[i].name != name) continue;
        return i < rows || exists[i - rows] ? &point.parameters[i].value : nullptr;
      }
      return nullptr;
    };
    for (std::size_t i : plan.when_order) {
      const Result<bool> holds = branch.dimensions[i].when->holds(lookup);
      if (!holds) {
        return tl::unexpected<Error>(
            holds.error().with_context("`when` of parameter `" + branch.dimensions[i].name + "`"));
      }
      exists[i] = *holds;
    }
    // An axis none of whose parameters exists here says nothing: its first value stands for all.
    for (std::size_t a = 0; drop_repeats && a < plan.axes.size(); ++a) {
      const std::vector<std::size_t>& members = plan.axes[a].dimensions;
      const bool silent =
          !members.empty() &&
          std::none_of(members.begin(), members.end(), [&](std::size_t i) { return exists[i]; });
      if (silent && digits[a] != 0) return std::optional<Point>();
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < point.parameters.size(); ++i) {
      if (i >= rows && !exists[i - rows]) continue;
      if (kept != i) point.parameters[kept] = std::move(point.parameters[i]);
      ++kept;
    }
    point.parameters.resize(kept);
  }
  for (const Expression& where : branch.where) {
    const Result<bool> holds = holds_at(where, point, "`where`");
    if (!holds) return propagate(holds);
    if (!*holds) return std::optional<Point>();
  }
  return std::optional<Point>(std::move(point));
}

Space::Space() {
  Plan plan;
  branches_.emplace_back();
  plan.branches.emplace_back();
  plan.count.value = 1;
  plan.indices = 1;
  plan_ = std::make_shared<const Plan>(std::move(plan));
}

PointCount Space::count() const { return plan_->count; }

std::uint64_t Space::index_count() const { return plan_->indices; }

std::size_t Space::axes() const { return plan_->coordinates; }

bool Space::finite() const { return !plan_->count.infinite; }

Result<std::optional<Point>> Space::point(std::uint64_t index) const {
  SEEDBED_CHECK(finite());
  SEEDBED_CHECK(index < plan_->indices || plan_->count.saturated);
  std::size_t number = 0;
  while (number + 1 < branches_.size() && index >= plan_->branches[number + 1].first) ++number;
  const SpaceBranch& branch = branches_[number];
  const BranchPlan& plan = plan_->branches[number];

  Digits digits(plan.axes.size());
  std::uint64_t rest = index - plan.first;
  for (std::size_t a = plan.axes.size(); a-- > 0;) {
    const std::uint64_t size = plan.axes[a].size;
    digits[a] = rest % size;
    rest /= size;
  }
  Point raw = raw_point(branch, plan, digits.data());
  if (number == 0 && plan.when_order.empty() && branch.where.empty()) {
    return std::optional<Point>(std::move(raw));
  }
  Result<std::optional<Point>> point =
      filtered_point(branch, plan, digits.data(), std::move(raw), true);
  if (!point || !*point) return point;
  for (std::size_t earlier = 0; earlier < number; ++earlier) {
    if (contains(branches_[earlier], plan_->branches[earlier], **point)) {
      return std::optional<Point>();
    }
  }
  return point;
}

Result<std::optional<Point>> Space::point_at(const std::vector<double>& unit) const {
  SEEDBED_CHECK(unit.size() >= plan_->coordinates);
  std::size_t number = 0;
  std::size_t next = 0;
  if (branches_.size() > 1) {
    const double choice = unit[next++];
    if (plan_->weigh_branches) {
      const std::uint64_t index = scaled(choice, plan_->indices);
      while (number + 1 < branches_.size() && index >= plan_->branches[number + 1].first) ++number;
    } else {
      number = static_cast<std::size_t>(scaled(choice, branches_.size()));
    }
  }
  const SpaceBranch& branch = branches_[number];
  const BranchPlan& plan = plan_->branches[number];
  Digits digits(plan.axes.size());
  std::vector<double> coordinates(plan.axes.size());
  for (std::size_t a = 0; a < plan.axes.size(); ++a) {
    const SpaceAxis& axis = plan.axes[a];
    digits[a] = 0;
    if (axis.size == 1) continue;
    coordinates[a] = unit[next++];
    if (axis.size != 0) digits[a] = draw_index(axis, coordinates[a]);
  }
  Point point;
  point.parameters.reserve(plan.names.size());
  if (branch.explicit_rows) {
    const auto& row = branch.explicit_rows->rows[static_cast<std::size_t>(digits[0])];
    point.parameters.assign(row.begin(), row.end());
  }
  for (std::size_t i = 0; i < branch.dimensions.size(); ++i) {
    const Dimension& dimension = branch.dimensions[i];
    const std::size_t axis = plan.axis_of[i];
    // Alone on its axis a distribution draws by its own law (`log_integer`), in a group by index.
    const bool own_law = dimension.values.empty() && plan.axes[axis].dimensions.size() == 1;
    point.parameters.push_back(
        {dimension.name,
         own_law ? dimension.distribution->draw(coordinates[axis]) : dimension.at(digits[axis])});
  }
  return filtered_point(branch, plan, digits.data(), std::move(point), false);
}

const Dimension* Space::dimension(std::string_view name) const {
  for (const SpaceBranch& branch : branches_) {
    for (const Dimension& dimension : branch.dimensions) {
      if (dimension.name == name) return &dimension;
    }
  }
  return nullptr;
}

}  // namespace seedbed
