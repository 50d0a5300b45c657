#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/metric_source.h"
#include "metrics/notes.h"
#include "metrics/row.h"
#include "metrics/state_text.h"

namespace seedbed {

/// The last stage of every parser: gives points their steps, and drops those that a file which was
/// rewritten from its start gives a second time.
///
/// Steps. A point without one gets its metric's last step plus one, from 1: the running number
/// where no step is ever reported. Steps that go backwards are kept as reported, with a note.
///
/// Replays. A hash over all points so far is kept, with marks at the powers of two and at about 32
/// evenly spread counts. After `restart` points are held back while the new file may be a replay:
/// a mark that agrees drops them, one that differs gives them and ends the comparison. So memory is
/// bounded, and a point is repeated only if it lies between two marks around the first difference
/// (a repeated point of equal name and step changes no curve).
class PointSink {
 public:
  /// Gives the metrics of a row: all cells but its step. `fallback` is the step of a row without.
  void add_row(const Row& row, std::optional<double> fallback, std::vector<ParsedPoint>& points);

  void finish(std::vector<ParsedPoint>& points);
  void restart();
  /// Nothing that comes is a replay of what was; numbering begins anew if the file does.
  void next_attempt();

  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] Notes& notes() { return notes_; }

  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  struct Held {
    std::string name;
    std::optional<double> step;
    double value = 0;
  };
  struct Mark {
    std::uint64_t count = 0;
    std::uint64_t hash = 0;
  };

  void add(std::string_view name, std::optional<double> step, double value,
           std::vector<ParsedPoint>& points);
  void replay(std::string_view name, std::optional<double> step, double value, std::uint64_t hash,
              std::vector<ParsedPoint>& points);
  void leave_replay();
  void give(std::string_view name, std::optional<double> step, double value,
            std::vector<ParsedPoint>& points);
  void give_held(std::vector<ParsedPoint>& points);
  void add_mark();

  std::map<std::string, double, std::less<>> last_step_;  ///< of every name
  std::uint64_t count_ = 0, hash_ = 0;                    ///< of the points of this file
  std::uint64_t stride_ = 1;
  std::vector<Mark> marks_;  ///< ascending counts

  bool forget_steps_ = false;  ///< at the next restart
  bool replaying_ = false;
  std::uint64_t replay_count_ = 0, replay_hash_ = 0;
  std::size_t next_mark_ = 0;  ///< first mark not yet reached
  std::vector<Held> held_;
  std::vector<Held> unsettled_;  ///< held when another restart came: given at the next chance
  bool told_backwards_ = false;
  Notes notes_;
};

}  // namespace seedbed
