#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "study/space.h"

// How a Space finds its n-th point. Only space*.cc look inside.

namespace seedbed {

/// One digit of an index: the explicit rows, a dimension alone, or a group that varies together.
struct SpaceAxis {
  std::uint64_t size = 0;               ///< number of values; 0 = infinitely many
  bool rows = false;                    ///< the explicit rows; `dimensions` is empty then
  std::vector<std::size_t> dimensions;  ///< indices into the branch's dimensions
  std::vector<double> cumulative;       ///< of probabilities, for a dimension that has them
};

/// What `build` works out about one branch.
struct BranchPlan {
  std::vector<SpaceAxis> axes;          ///< first varies slowest
  std::vector<std::size_t> axis_of;     ///< axis of each dimension
  std::vector<std::size_t> when_order;  ///< dimensions with `when`, each after those it asks
  std::vector<std::string> names;       ///< row names, then dimension names
  std::vector<std::unordered_set<std::string>> canonical;  ///< values of list dimensions (unions)
  std::uint64_t first = 0;                                 ///< index of its first point
  std::uint64_t indices = 1;  ///< product of sizes, saturating; 0 when infinite
  bool saturated = false;
  bool infinite = false;
};

struct Space::Plan {
  std::vector<BranchPlan> branches;
  PointCount count;
  std::uint64_t indices = 0;  ///< 0 when infinite or saturated
  std::size_t coordinates = 0;
  bool weigh_branches = false;  ///< draw a branch by its number of points

  /// Where each branch's indices begin, and how many coordinates a draw takes.
  void lay_out(const std::vector<SpaceBranch>& of);
  /// The number of points: by multiplication, and by trying where filters look at little.
  [[nodiscard]] Status count_points(const std::vector<SpaceBranch>& of);
};

/// Whether an expression holds at a point; an error names the role of the expression and the point.
[[nodiscard]] Result<bool> holds_at(const Expression& expression, const Point& point,
                                    std::string_view role);

/// The point of one branch for given digits; nullopt when `when` makes it a repetition of another
/// (`drop_repeats`) or `where` drops it.
[[nodiscard]] Result<std::optional<Point>> filtered_point(const SpaceBranch& branch,
                                                          const BranchPlan& plan,
                                                          const std::uint64_t* digits, Point point,
                                                          bool drop_repeats);

/// All parameters of a branch at given digits, before `when` and `where`.
[[nodiscard]] Point raw_point(const SpaceBranch& branch, const BranchPlan& plan,
                              const std::uint64_t* digits);

/// Whether a branch holds this very point.
[[nodiscard]] bool contains(const SpaceBranch& branch, const BranchPlan& plan, const Point& point);

/// Whether two branches cannot share a point, seen from names and values alone.
[[nodiscard]] bool surely_disjoint(const SpaceBranch& a, const SpaceBranch& b);

/// Axes, strides and order of `when` of one branch; every check that needs no other branch.
[[nodiscard]] Result<BranchPlan> plan_branch(const SpaceBranch& branch);

}  // namespace seedbed
