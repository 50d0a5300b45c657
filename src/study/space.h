#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "study/distribution.h"
#include "study/expression.h"
#include "study/point.h"

namespace seedbed {

/// How booleans of a parameter reach the program (`flag:` in the file).
enum class FlagStyle { python, present, no, zero_one, true_false };

/// One parameter and the values it may take: a finite list or a distribution.
struct Dimension {
  std::string name;
  std::vector<Value> values;                 ///< finite list, in the order written; or empty
  std::vector<double> probabilities;         ///< as long as values, or empty (all alike)
  std::optional<Distribution> distribution;  ///< used when values is empty
  std::optional<Expression> when;            ///< the parameter exists only where this holds
  FlagStyle flag = FlagStyle::python;

  [[nodiscard]] bool finite() const;
  /// Number of values when finite (an integer range is finite and expands without a list).
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Value at(std::uint64_t index) const;  ///< value of a finite dimension
};

/// Explicit points (`trials:`): each row binds some parameters.
struct ExplicitRows {
  std::vector<std::vector<Parameter>> rows;
};

/// A product of dimensions, zipped groups and explicit rows: one branch of a union.
struct SpaceBranch {
  std::vector<Dimension> dimensions;           ///< in the order written; the last varies fastest
  std::vector<std::vector<std::string>> zips;  ///< groups that vary together, equal lengths
  std::optional<ExplicitRows> explicit_rows;   ///< multiplied in before the dimensions
  std::vector<Expression> where;               ///< keep only points where all hold
};

/// A count of points. `exact` is false when `where`, `when` or a union can only make it smaller by
/// an unknown number; filters that look at no more than 10,000 combinations are counted exactly.
struct PointCount {
  std::uint64_t value = 0;  ///< saturates at 2^64-1
  bool saturated = false;
  bool infinite = false;  ///< a continuous parameter
  bool exact = true;
};

/// The parameters and what values they may take. Expands lazily: memory depends on what was
/// written, never on the number of points. Immutable after `build`.
class Space {
 public:
  /// Checks everything that can be checked before a point exists: zip lengths, duplicate names,
  /// names in `where`/`when` that no branch knows, cycles of `when`; grid over continuous ranges is
  /// the sampler's to refuse. Equal rows are kept once; equal values in a list are the reader's to
  /// merge. A point that an earlier branch of a union holds is dropped from the later ones.
  [[nodiscard]] static Result<Space> build(std::vector<SpaceBranch> branches);

  Space();  ///< one point without parameters

  /// Worked out once by `build`; by multiplication, however large the space.
  [[nodiscard]] PointCount count() const;
  /// Number of indices `point` accepts (before filters). 0 when infinite or saturated; a saturated
  /// space has points for all 2^64 indices.
  [[nodiscard]] std::uint64_t index_count() const;
  /// The index-th point of a finite space in grid order; nullopt when a filter drops it.
  /// Cost: O(number of parameters). An error comes from `where`/`when` (text in arithmetic, say).
  [[nodiscard]] Result<std::optional<Point>> point(std::uint64_t index) const;

  /// A point with coordinates u_i in [0, 1) for each *axis* (a dimension, a zip group or the
  /// explicit rows, with more than one value; the branch of a union is chosen by the first
  /// coordinate when there are several, by its number of points if finite). `probabilities` count
  /// here. This is how random and Sobol draw. nullopt when `where` drops it.
  [[nodiscard]] std::size_t axes() const;
  [[nodiscard]] Result<std::optional<Point>> point_at(const std::vector<double>& unit) const;

  [[nodiscard]] bool finite() const;
  [[nodiscard]] const std::vector<SpaceBranch>& branches() const { return branches_; }
  /// All parameter names, in the order of first appearance.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Names that take more than one value over the space (for folder names, tables, warnings).
  [[nodiscard]] const std::vector<std::string>& varying() const { return varying_; }
  /// The dimension of that name in the first branch that has it, or nullptr.
  [[nodiscard]] const Dimension* dimension(std::string_view name) const;

 private:
  std::vector<SpaceBranch> branches_;
  std::vector<std::string> names_;
  std::vector<std::string> varying_;
  struct Plan;  // axes and strides of each branch
  std::shared_ptr<const Plan> plan_;
};

}  // namespace seedbed
