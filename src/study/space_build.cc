#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "base/text.h"
#include "study/space_plan.h"

namespace seedbed {
namespace {

constexpr std::uint64_t kSaturated = std::numeric_limits<std::uint64_t>::max();
// Filters over no more points than this are counted exactly, by trying them (some milliseconds).
constexpr std::uint64_t kCountable = 10000;

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::usage, std::move(message));
}

std::string quoted(std::string_view name) { return "`" + one_line(name, 60) + "`"; }

Status check_name(const std::string& name) {
  if (name.empty()) return wrong("a parameter has an empty name; give it one");
  if (name[0] == '-') {
    return wrong("parameter " + quoted(name) + " begins with `-`; write it without, the program " +
                 "receives --NAME=VALUE anyway");
  }
  for (char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '=' || c == '`' || c == '{' ||
        c == '}') {
      return wrong("parameter " + quoted(name) + " has a character that names cannot have " +
                   "(= ` { } or a control character); rename it");
    }
  }
  return {};
}

Status check_probabilities(const Dimension& dimension) {
  if (dimension.probabilities.empty()) return {};
  const std::string start = "parameter " + quoted(dimension.name) + ": ";
  if (dimension.probabilities.size() != dimension.values.size()) {
    return wrong(start + std::to_string(dimension.values.size()) + " values but " +
                 std::to_string(dimension.probabilities.size()) +
                 " probabilities; give one for each value");
  }
  double sum = 0;
  for (double probability : dimension.probabilities) {
    if (!(probability >= 0) || !std::isfinite(probability)) {
      return wrong(start + "a probability is " + format_number(probability) +
                   "; they are numbers from 0 to 1");
    }
    sum += probability;
  }
  if (std::fabs(sum - 1) > 1e-6) {
    return wrong(start + "the probabilities sum to " + format_number(sum) + ", not to 1");
  }
  return {};
}

Status check_dimension(const Dimension& dimension) {
  if (Status status = check_name(dimension.name); !status) return status;
  const std::string start = "parameter " + quoted(dimension.name) + ": ";
  if (dimension.values.empty() && !dimension.distribution) {
    return wrong(start + "its list of values is empty; give at least one value, or remove it");
  }
  if (dimension.values.empty()) {
    if (Status status = dimension.distribution->validate(); !status) {
      return wrong(start + status.error().message);
    }
  }
  return check_probabilities(dimension);
}

// Keeps the first of equal rows; two rows that bind the same values are one point.
std::vector<std::vector<Parameter>> unique_rows(std::vector<std::vector<Parameter>> rows) {
  std::unordered_set<std::string> seen;
  std::vector<std::vector<Parameter>> kept;
  for (auto& row : rows) {
    Point point{std::move(row)};
    if (seen.insert(point.identity()).second) kept.push_back(std::move(point.parameters));
  }
  return kept;
}

// Checks the rows and gives their names in order of first appearance.
Result<std::vector<std::string>> row_names(const ExplicitRows& rows) {
  if (rows.rows.empty()) return wrong("`trials` has no rows; give at least one, or remove it");
  std::vector<std::string> names;
  std::set<std::string, std::less<>> known;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    std::set<std::string_view> here;
    for (const Parameter& parameter : rows.rows[r]) {
      if (Status status = check_name(parameter.name); !status) return propagate(status);
      if (!here.insert(parameter.name).second) {
        return wrong("row " + std::to_string(r + 1) + " of `trials` binds " +
                     quoted(parameter.name) + " twice; keep one");
      }
      if (known.insert(parameter.name).second) names.push_back(parameter.name);
    }
  }
  return names;
}

std::string zip_text(const std::vector<std::string>& group) {
  return "zip [" + join(group, ", ") + "]";
}

// Position of each dimension's zip group, or npos.
Result<std::vector<std::size_t>> zip_of_dimensions(const SpaceBranch& branch,
                                                   const std::vector<std::string>& names) {
  constexpr auto kNone = std::string::npos;
  std::vector<std::size_t> group_of(branch.dimensions.size(), kNone);
  for (std::size_t g = 0; g < branch.zips.size(); ++g) {
    const std::vector<std::string>& group = branch.zips[g];
    const std::string start = zip_text(group) + ": ";
    if (group.size() < 2) return wrong(start + "needs at least two names that vary together");
    const Dimension* first = nullptr;
    for (const std::string& name : group) {
      const auto found =
          std::find_if(branch.dimensions.begin(), branch.dimensions.end(),
                       [&](const Dimension& dimension) { return dimension.name == name; });
      if (found == branch.dimensions.end()) {
        const auto near = nearest(name, names);
        return wrong(
            start + "there is no parameter " + quoted(name) +
            (near ? "; did you mean " + quoted(*near) + "?" : " here; add it, or remove it"));
      }
      const auto index = static_cast<std::size_t>(found - branch.dimensions.begin());
      if (group_of[index] != kNone) {
        return wrong(start + quoted(name) + " is named twice; a parameter varies with one group");
      }
      group_of[index] = g;
      if (!found->finite()) {
        return wrong(start + quoted(name) + " is a continuous range; only lists vary together");
      }
      if (!found->probabilities.empty()) {
        return wrong(start + quoted(name) + " has probabilities; they have no meaning in a zip");
      }
      if (first == nullptr) first = &*found;
      if (found->size() != first->size()) {
        return wrong(start + quoted(first->name) + " has " + std::to_string(first->size()) +
                     " values, " + quoted(name) + " has " + std::to_string(found->size()) +
                     "; lists that vary together have equal length");
      }
    }
  }
  return group_of;
}

// Dimensions with `when`, each after those it asks; an error for a circle.
Result<std::vector<std::size_t>> order_of_when(const SpaceBranch& branch) {
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < branch.dimensions.size(); ++i) {
    by_name.emplace(branch.dimensions[i].name, i);
  }
  enum class Mark { fresh, open, done };
  std::vector<Mark> marks(branch.dimensions.size(), Mark::fresh);
  std::vector<std::size_t> order;
  // Depth-first with a stack of our own: a chain of thousands of parameters is legal.
  struct Frame {
    std::size_t dimension;
    std::size_t next_name;
  };
  for (std::size_t start = 0; start < branch.dimensions.size(); ++start) {
    if (!branch.dimensions[start].when || marks[start] != Mark::fresh) continue;
    std::vector<Frame> stack = {{start, 0}};
    marks[start] = Mark::open;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Dimension& dimension = branch.dimensions[frame.dimension];
      const std::vector<std::string>& names = dimension.when->names();
      if (frame.next_name == names.size()) {
        marks[frame.dimension] = Mark::done;
        order.push_back(frame.dimension);
        stack.pop_back();
        continue;
      }
      const auto found = by_name.find(names[frame.next_name++]);
      if (found == by_name.end() || !branch.dimensions[found->second].when) continue;
      const std::size_t asked = found->second;
      if (marks[asked] == Mark::open) {
        return wrong("`when` goes in a circle: " + quoted(dimension.name) + " asks " +
                     quoted(branch.dimensions[asked].name) +
                     ", which depends on it in turn; remove one of them");
      }
      if (marks[asked] == Mark::fresh) {
        marks[asked] = Mark::open;
        stack.push_back({asked, 0});
      }
    }
  }
  return order;
}

void add_axes(const SpaceBranch& branch, const std::vector<std::size_t>& group_of,
              BranchPlan& plan) {
  if (branch.explicit_rows) {
    SpaceAxis axis;
    axis.rows = true;
    axis.size = branch.explicit_rows->rows.size();
    plan.axes.push_back(std::move(axis));
  }
  // A group stands where its first member was written.
  std::vector<std::size_t> axis_of_group(branch.zips.size(), std::string::npos);
  plan.axis_of.resize(branch.dimensions.size());
  for (std::size_t i = 0; i < branch.dimensions.size(); ++i) {
    const Dimension& dimension = branch.dimensions[i];
    const std::size_t group = group_of[i];
    if (group != std::string::npos && axis_of_group[group] != std::string::npos) {
      plan.axis_of[i] = axis_of_group[group];
      plan.axes[plan.axis_of[i]].dimensions.push_back(i);
      continue;
    }
    SpaceAxis axis;
    axis.size = dimension.size();
    axis.dimensions = {i};
    double sum = 0;
    for (double probability : dimension.probabilities) {
      axis.cumulative.push_back(sum += probability);
    }
    if (group != std::string::npos) axis_of_group[group] = plan.axes.size();
    plan.axis_of[i] = plan.axes.size();
    plan.axes.push_back(std::move(axis));
  }
}

void multiply_sizes(BranchPlan& plan) {
  for (const SpaceAxis& axis : plan.axes) {
    if (axis.size == 0) plan.infinite = true;
    if (__builtin_mul_overflow(plan.indices, axis.size, &plan.indices)) plan.saturated = true;
  }
  if (plan.saturated) plan.indices = kSaturated;
  if (plan.infinite) {
    plan.indices = 0;
    plan.saturated = false;
  }
}

// Every name used in `where` and `when` must be known somewhere.
Status check_names(const std::vector<SpaceBranch>& branches,
                   const std::vector<std::string>& names) {
  const std::set<std::string_view> known(names.begin(), names.end());
  const auto check = [&](const Expression& expression, const std::string& role) -> Status {
    for (const std::string& name : expression.names()) {
      if (known.count(name) != 0) continue;
      const auto near = nearest(name, names);
      return wrong(role + " `" + one_line(expression.text(), 100) + "`: there is no parameter " +
                   quoted(name) + "; " +
                   (near ? "did you mean " + quoted(*near) + "? " : std::string()) +
                   "(a word is quoted: '" + one_line(name, 60) + "')");
    }
    return {};
  };
  for (const SpaceBranch& branch : branches) {
    for (const Dimension& dimension : branch.dimensions) {
      if (!dimension.when) continue;
      Status status = check(*dimension.when, "`when` of parameter " + quoted(dimension.name));
      if (!status) return status;
    }
    for (const Expression& where : branch.where) {
      if (Status status = check(where, "`where`"); !status) return status;
    }
  }
  return {};
}

// Number of points of a branch after `when` and `where`: the axes that the filters look at are
// tried, the others multiply. Nothing when that would be too many to try.
Result<std::optional<std::uint64_t>> filtered_count(const SpaceBranch& branch,
                                                    const BranchPlan& plan) {
  if (plan.infinite || plan.saturated) return std::optional<std::uint64_t>();
  std::set<std::string_view> asked;
  for (const Expression& where : branch.where) {
    asked.insert(where.names().begin(), where.names().end());
  }
  for (const Dimension& dimension : branch.dimensions) {
    if (!dimension.when) continue;
    asked.insert(dimension.name);
    asked.insert(dimension.when->names().begin(), dimension.when->names().end());
  }
  std::vector<std::size_t> tried;
  std::uint64_t trials = 1;
  for (std::size_t a = 0; a < plan.axes.size(); ++a) {
    const SpaceAxis& axis = plan.axes[a];
    const bool involved =
        axis.rows ||
        std::any_of(axis.dimensions.begin(), axis.dimensions.end(),
                    [&](std::size_t i) { return asked.count(branch.dimensions[i].name) != 0; });
    if (!involved) continue;
    tried.push_back(a);
    if (__builtin_mul_overflow(trials, axis.size, &trials) || trials > kCountable) {
      return std::optional<std::uint64_t>();
    }
  }
  std::uint64_t kept = 0;
  std::vector<std::uint64_t> digits(plan.axes.size(), 0);
  for (std::uint64_t number = 0; number < trials; ++number) {
    std::uint64_t rest = number;
    for (std::size_t t = tried.size(); t-- > 0;) {
      digits[tried[t]] = rest % plan.axes[tried[t]].size;
      rest /= plan.axes[tried[t]].size;
    }
    const Result<std::optional<Point>> point =
        filtered_point(branch, plan, digits.data(), raw_point(branch, plan, digits.data()), true);
    if (!point) return propagate(point);
    if (*point) ++kept;
  }
  return std::optional<std::uint64_t>(kept * (plan.indices / trials));
}

bool filtered(const SpaceBranch& branch, const BranchPlan& plan) {
  return !branch.where.empty() || !plan.when_order.empty();
}

// A group of which `when` may hide some members: rows that differ in those alone are then one.
bool hides_some_of_zip(const SpaceBranch& branch, const BranchPlan& plan) {
  return std::any_of(plan.axes.begin(), plan.axes.end(), [&](const SpaceAxis& axis) {
    return axis.dimensions.size() > 1 &&
           std::any_of(axis.dimensions.begin(), axis.dimensions.end(),
                       [&](std::size_t i) { return branch.dimensions[i].when.has_value(); });
  });
}

// Names that take more than one value (or are sometimes not there) over the whole space.
std::vector<std::string> varying_names(const std::vector<SpaceBranch>& branches,
                                       const std::vector<std::string>& names) {
  struct Seen {
    std::set<std::string> values;  // canonical, two at most
    std::size_t branches = 0;      // that bind it at every point
  };
  std::unordered_map<std::string_view, Seen> seen;
  const auto add = [&](std::string_view name, const Value& value) {
    Seen& entry = seen[name];
    if (entry.values.size() < 2) entry.values.insert(value.canonical());
  };
  for (const SpaceBranch& branch : branches) {
    std::unordered_map<std::string_view, std::size_t> rows_with;
    if (branch.explicit_rows) {
      for (const auto& row : branch.explicit_rows->rows) {
        for (const Parameter& parameter : row) {
          add(parameter.name, parameter.value);
          ++rows_with[parameter.name];
        }
      }
      for (const auto& [name, rows] : rows_with) {
        if (rows == branch.explicit_rows->rows.size()) ++seen[name].branches;
      }
    }
    for (const Dimension& dimension : branch.dimensions) {
      for (const Value& value : dimension.values) add(dimension.name, value);
      if (dimension.values.empty()) {
        add(dimension.name, dimension.distribution->draw(0));
        add(dimension.name, dimension.distribution->draw(0.999999));
      }
      if (!dimension.when) ++seen[dimension.name].branches;
    }
  }
  std::vector<std::string> varying;
  for (const std::string& name : names) {
    const Seen& entry = seen[name];
    if (entry.values.size() > 1 || entry.branches < branches.size()) varying.push_back(name);
  }
  return varying;
}

}  // namespace

Result<BranchPlan> plan_branch(const SpaceBranch& branch) {
  BranchPlan plan;
  if (branch.explicit_rows) {
    Result<std::vector<std::string>> names = row_names(*branch.explicit_rows);
    if (!names) return propagate(names);
    plan.names = std::move(*names);
  }
  std::set<std::string_view> rows(plan.names.begin(), plan.names.end());
  std::set<std::string_view> known;
  std::vector<std::string> dimension_names;
  for (const Dimension& dimension : branch.dimensions) {
    if (Status status = check_dimension(dimension); !status) return propagate(status);
    if (rows.count(dimension.name) != 0) {
      return wrong("parameter " + quoted(dimension.name) +
                   " is also a column of `trials`; keep it in one of the two");
    }
    if (!known.insert(dimension.name).second) {
      return wrong("parameter " + quoted(dimension.name) + " is given twice; keep one");
    }
    dimension_names.push_back(dimension.name);
  }
  const Result<std::vector<std::size_t>> groups = zip_of_dimensions(branch, dimension_names);
  if (!groups) return propagate(groups);
  Result<std::vector<std::size_t>> order = order_of_when(branch);
  if (!order) return propagate(order);
  plan.when_order = std::move(*order);
  add_axes(branch, *groups, plan);
  multiply_sizes(plan);
  plan.names.insert(plan.names.end(), dimension_names.begin(), dimension_names.end());
  return plan;
}

void Space::Plan::lay_out(const std::vector<SpaceBranch>& of) {
  std::size_t axes = 0;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    BranchPlan& branch = branches[b];
    branch.first = indices;
    count.infinite = count.infinite || branch.infinite;
    count.saturated = count.saturated || branch.saturated ||
                      __builtin_add_overflow(indices, branch.indices, &indices);
    if (count.saturated) indices = kSaturated;
    axes = std::max(axes, static_cast<std::size_t>(
                              std::count_if(branch.axes.begin(), branch.axes.end(),
                                            [](const SpaceAxis& axis) { return axis.size != 1; })));
    if (b + 1 == branches.size()) continue;
    for (const Dimension& dimension : of[b].dimensions) {
      branch.canonical.emplace_back();
      for (const Value& value : dimension.values) {
        branch.canonical.back().insert(value.canonical());
      }
    }
  }
  coordinates = axes + (branches.size() > 1 ? 1 : 0);
  if (count.infinite) count.saturated = false;
  weigh_branches = !count.infinite && !count.saturated;
  if (!weigh_branches) indices = 0;
}

Status Space::Plan::count_points(const std::vector<SpaceBranch>& of) {
  std::uint64_t points = 0;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    std::uint64_t here = branches[b].indices;
    if (filtered(of[b], branches[b])) {
      const Result<std::optional<std::uint64_t>> counted = filtered_count(of[b], branches[b]);
      if (!counted) return propagate(counted);
      if (*counted) {
        here = **counted;
      } else {
        count.exact = false;
      }
      if (hides_some_of_zip(of[b], branches[b])) count.exact = false;
    }
    if (__builtin_add_overflow(points, here, &points)) points = kSaturated;
    for (std::size_t earlier = 0; earlier < b; ++earlier) {
      if (!surely_disjoint(of[earlier], of[b])) {
        count.exact = false;
      }
    }
  }
  count.value = count.infinite ? 0 : count.saturated ? kSaturated : points;
  return {};
}

Result<Space> Space::build(std::vector<SpaceBranch> branches) {
  if (branches.empty()) return Space();
  Space space;
  Plan plan;
  space.branches_ = std::move(branches);
  std::set<std::string, std::less<>> known;
  for (SpaceBranch& branch : space.branches_) {
    if (branch.explicit_rows) {
      branch.explicit_rows->rows = unique_rows(std::move(branch.explicit_rows->rows));
    }
    Result<BranchPlan> made = plan_branch(branch);
    if (!made) return propagate(made);
    for (const std::string& name : made->names) {
      if (known.insert(name).second) space.names_.push_back(name);
    }
    plan.branches.push_back(std::move(*made));
  }
  if (Status status = check_names(space.branches_, space.names_); !status) return propagate(status);

  plan.lay_out(space.branches_);
  if (Status status = plan.count_points(space.branches_); !status) return propagate(status);
  space.plan_ = std::make_shared<const Plan>(plan);

  if (!plan.count.exact && plan.weigh_branches && plan.indices <= kCountable) {
    std::set<std::string> distinct;
    for (std::uint64_t i = 0; i < plan.indices; ++i) {
      const Result<std::optional<Point>> point = space.point(i);
      if (!point) return propagate(point);
      if (*point) distinct.insert((*point)->identity());
    }
    plan.count.value = distinct.size();
    plan.count.exact = true;
    space.plan_ = std::make_shared<const Plan>(std::move(plan));
  }
  space.varying_ = varying_names(space.branches_, space.names_);
  return space;
}

}  // namespace seedbed
