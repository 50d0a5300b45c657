#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "store/sqlite.h"

namespace seedbed {

/// `application_id` of study.db: "seed" in ASCII.
inline constexpr std::int64_t kApplicationId = 0x73656564;

/// `user_version` of the schema that this version writes.
inline constexpr std::int64_t kSchemaVersion = 1;

/// The name of the database in a study's folder.
inline constexpr const char* kDatabaseName = "study.db";

/// Makes the tables in an empty database.
[[nodiscard]] Status create_schema(const sqlite::Database& database);

/// Makes the projected tables empty; records, metric points and positions stay.
[[nodiscard]] Status clear_projection(const sqlite::Database& database);

/// What kind of file it is: an error unless it is a study of this schema or an older one.
/// Gives the version; 0 for an empty database.
[[nodiscard]] Result<std::int64_t> schema_version(const sqlite::Database& database);

/// Key of an attempt in the tables: trial * 1,000,000 + attempt, readable and in order.
inline constexpr std::int64_t kAttemptsPerTrial = 1'000'000;
[[nodiscard]] Result<std::int64_t> attempt_key(AttemptId id);
[[nodiscard]] AttemptId attempt_of_key(std::int64_t key);

/// Checksum of a record, kept beside it: 32 bits over number, time, kind and body.
[[nodiscard]] std::int64_t record_sum(std::int64_t id, Timestamp at, std::string_view kind,
                                      std::string_view body);

}  // namespace seedbed
