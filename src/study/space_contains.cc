#include <algorithm>
#include <cmath>
#include <set>

#include "study/space_plan.h"

// Unions count a point once: a branch drops what an earlier branch already holds. That is decided
// from the point alone, so no list of the points seen is needed.

namespace seedbed {
namespace {

// Not there and absent are the same.
const Value* present(const Point& point, std::string_view name) {
  const Value* value = point.find(name);
  return value == nullptr || value->is_absent() ? nullptr : value;
}

bool same(const Value* found, const Value& wanted) {
  return found == nullptr ? wanted.is_absent() : *found == wanted;
}

bool range_holds(const Distribution& distribution, const Value& value) {
  if (!distribution.finite() || !value.is_number()) return false;
  const double low = *distribution.at(0).number();
  const double step = distribution.kind == DistributionKind::int_uniform ? 1 : distribution.q;
  const double index = std::round((*value.number() - low) / step);
  if (index < 0 || index >= static_cast<double>(distribution.size())) return false;
  return distribution.at(static_cast<std::uint64_t>(index)) == value;
}

bool rows_hold(const ExplicitRows& rows, const std::vector<std::string>& names,
               const Point& point) {
  return std::any_of(rows.rows.begin(), rows.rows.end(), [&](const std::vector<Parameter>& row) {
    const Point bound{row};
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const Value* wanted = present(bound, name);
      return same(present(point, name), wanted == nullptr ? Value() : *wanted);
    });
  });
}

bool group_holds(const SpaceBranch& branch, const SpaceAxis& axis, const std::vector<bool>& exists,
                 const Point& point) {
  for (std::uint64_t row = 0; row < axis.size; ++row) {
    const bool all = std::all_of(axis.dimensions.begin(), axis.dimensions.end(), [&](auto i) {
      return !exists[i] ||
             same(present(point, branch.dimensions[i].name), branch.dimensions[i].at(row));
    });
    if (all) return true;
  }
  return false;
}

bool single_holds(const Dimension& dimension, const std::unordered_set<std::string>& canonical,
                  const Point& point) {
  const Value* value = present(point, dimension.name);
  if (dimension.values.empty()) {
    return value != nullptr && range_holds(*dimension.distribution, *value);
  }
  return canonical.count(value == nullptr ? Value().canonical() : value->canonical()) != 0;
}

bool always_there(const Dimension& dimension) {
  return !dimension.when && std::none_of(dimension.values.begin(), dimension.values.end(),
                                         [](const Value& value) { return value.is_absent(); });
}

bool binds(const SpaceBranch& branch, std::string_view name) {
  const auto named = [&](const auto& entry) { return entry.name == name; };
  if (std::any_of(branch.dimensions.begin(), branch.dimensions.end(), named)) return true;
  if (!branch.explicit_rows) return false;
  return std::any_of(branch.explicit_rows->rows.begin(), branch.explicit_rows->rows.end(),
                     [&](const auto& row) { return std::any_of(row.begin(), row.end(), named); });
}

const Dimension* find_dimension(const SpaceBranch& branch, std::string_view name) {
  for (const Dimension& dimension : branch.dimensions) {
    if (dimension.name == name) return &dimension;
  }
  return nullptr;
}

bool lists_disjoint(const Dimension& a, const Dimension& b) {
  if (a.values.empty() || b.values.empty()) return false;
  std::set<std::string_view> seen;
  for (const Value& value : a.values) seen.insert(value.canonical());
  return std::none_of(b.values.begin(), b.values.end(),
                      [&](const Value& value) { return seen.count(value.canonical()) != 0; });
}

// A parameter that `a` always has and `b` never has, or that both always have with other values.
bool told_apart(const SpaceBranch& a, const SpaceBranch& b) {
  return std::any_of(a.dimensions.begin(), a.dimensions.end(), [&](const Dimension& dimension) {
    if (!always_there(dimension)) return false;
    if (!binds(b, dimension.name)) return true;
    const Dimension* other = find_dimension(b, dimension.name);
    return other != nullptr && always_there(*other) && lists_disjoint(dimension, *other);
  });
}

}  // namespace

bool contains(const SpaceBranch& branch, const BranchPlan& plan, const Point& point) {
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    if (std::find(plan.names.begin(), plan.names.end(), parameter.name) == plan.names.end()) {
      return false;
    }
  }
  // A filter that fails on a point of another branch (text in arithmetic) does not hold it.
  const auto holds = [&](const Expression& expression) {
    const Result<bool> result =
        expression.holds([&](std::string_view name) { return point.find(name); });
    return result && *result;
  };
  std::vector<bool> exists(branch.dimensions.size(), true);
  for (std::size_t i : plan.when_order) {
    exists[i] = holds(*branch.dimensions[i].when);
    if (!exists[i] && present(point, branch.dimensions[i].name) != nullptr) return false;
  }
  for (const SpaceAxis& axis : plan.axes) {
    if (axis.rows) {
      const std::size_t row_names = plan.names.size() - branch.dimensions.size();
      const std::vector<std::string> names(
          plan.names.begin(), plan.names.begin() + static_cast<std::ptrdiff_t>(row_names));
      if (!rows_hold(*branch.explicit_rows, names, point)) return false;
    } else if (axis.dimensions.size() > 1) {
      if (!group_holds(branch, axis, exists, point)) return false;
    } else {
      const std::size_t i = axis.dimensions[0];
      if (exists[i] && !single_holds(branch.dimensions[i], plan.canonical[i], point)) return false;
    }
  }
  return std::all_of(branch.where.begin(), branch.where.end(), holds);
}

bool surely_disjoint(const SpaceBranch& a, const SpaceBranch& b) {
  return told_apart(a, b) || told_apart(b, a);
}

}  // namespace seedbed
