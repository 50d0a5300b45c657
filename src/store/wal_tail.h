#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace seedbed {

/// What stands in a WAL file behind its last complete transaction, in words for people; nothing
/// when all is in order. `frames`: how many frames SQLite has accepted. What an earlier use of the
/// same file left there is in order. Reads the file only.
///
/// A WAL is a header of 32 bytes (bytes 16-23: two salts, new with each reuse of the file) and
/// frames of 24 bytes + one page (bytes 8-15 of a frame: the salts it was written under);
/// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
[[nodiscard]] std::optional<std::string> describe_wal_tail(const std::string& path,
                                                           std::uint64_t frames);

}  // namespace seedbed
