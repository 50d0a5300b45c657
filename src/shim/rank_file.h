#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/outcome.h"

// `attempt-N.ranks` beside the log of an attempt of several ranks: what mpirun's own exit code and
// words do not tell truly (of a rank that exits with 3 before MPI_Init, MPICH's says nothing; of
// one that does so after it, that it was killed). One line a fact, appended by the process that
// holds the rank; the first end is the cause of the others. Without a fact there is no file.
//
//   rank 2 exited 3
//   rank 2 signalled 11
//   library /usr/lib/x86_64-linux-gnu/libmpich.so.12     of another MPI than the launcher's
//
// Limits: the first 16 KiB are read; other lines are passed over.

namespace seedbed::shim {

struct RankFacts {
  struct End {
    int rank = 0;
    OutcomeKind kind = OutcomeKind::exited;  ///< or signalled
    int code = 0;
    bool operator==(const End&) const = default;
  };
  std::optional<End> first_end;  ///< of a rank that failed
  std::string foreign_library;   ///< empty: none seen
};

[[nodiscard]] RankFacts parse_rank_facts(std::string_view text);
[[nodiscard]] std::string rank_end_line(const RankFacts::End& end);
[[nodiscard]] std::string foreign_library_line(const std::string& path);

}  // namespace seedbed::shim
