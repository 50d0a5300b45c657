#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "metrics/object_scan.h"
#include "metrics/row.h"
#include "metrics/state_text.h"

// The built-in rules for one piece of output (a line, or what stands between carriage returns).
//
//   name=value, name = value     the name begins with a letter or `_`, stands at the start or after
//                                a blank or one of ( [ { , ; | ' " * > ] and is not an option
//                                (`--lr=1`), path, address or number
//   name: value                  the same; a blank after the colon, unless the value has a point or
//                                an exponent (`host:8080`, `file.py:12` and `12:30:45` are no
//                                metrics)
//   {"name": value, ...}         JSON objects and printed dicts, nested names dotted
//   | name | value |             tables; all rows of a table belong together
//   step 5, Epoch 3/10, Epoch [3/10]      are steps
//   step 5 loss 0.3 acc 0.9      `name value` pairs, only where the whole line is such pairs and
//   the
//                                first is a step
//
// A value ends at a blank, the end, one of , ; ) ] } | " ' or `%` (but `45%|` is a progress bar),
// or a full stop or colon before a blank: `1.2.3`, `3.5s`, `10/20`, `2024-01-02`, `1,234` are no
// values. Words in front that tell metrics of one name apart belong to the name: `train loss`,
// `Val Loss`, `average loss`, `best acc`. Levels of logging are no names.

namespace seedbed {

/// The rank of a step that is written `k/n` and is finer than an epoch: a position inside the epoch
/// where there is one, so below `epoch`.
inline constexpr int kPositionRank = 45;

/// What kind of piece it is.
enum class PieceKind {
  plain,      ///< the row is what there is, often nothing
  step_only,  ///< nothing but a step: it counts for the following pieces without one
};

class LineScanner {
 public:
  /// Adds the cells of a piece to `row`. `whole` is false for a part of a very long piece: tables,
  /// word pairs and lone steps are not looked for there.
  PieceKind scan(std::string_view piece, bool whole, Row& row);

  /// For a piece with `=`, `:` or `{`: reads pairs and objects.
  void pairs(std::string_view piece, Row& row);

 private:
  bool pair(std::string_view piece, std::size_t at, std::size_t& next, Row& row);
  void step_words(std::string_view piece, Row& row);
  PieceKind words(std::string_view piece, Row& row);

  ObjectScanner objects_;
  std::string name_;
};

/// One row of a table `| name | value |`: its two cells, trimmed; nothing for any other line.
struct TableLine {
  std::string_view name, value;
};
[[nodiscard]] std::optional<TableLine> table_line(std::string_view piece);

/// The piece without terminal colour codes, cursor movements and backspaces; `scratch` holds it.
[[nodiscard]] std::string_view without_escapes(std::string_view piece, std::string& scratch);

/// The number that a text is, with at most closing punctuation after it: `0.9,`, `98%`.
[[nodiscard]] std::optional<double> lenient_number(std::string_view text);

}  // namespace seedbed
