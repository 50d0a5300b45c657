#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/records.h"

namespace seedbed {

/// The body of a record as one line of JSON: an object whose keys are the names of the record's
/// fields (docs/record.md lists them). Valid UTF-8 whatever bytes the record holds: a text that is
/// not valid UTF-8 is `{"hex": "..."}`; NaN and infinities are the texts `nan`, `inf`, `-inf`.
[[nodiscard]] std::string encode_record(const Record& record);

/// The record of that kind (`record_word`) and body. Unknown fields are passed over; what is
/// missing, of the wrong type or out of range is an error with code `damaged`. A kind that this
/// version does not know is an error with code `usage`: a newer version wrote it. Never aborts,
/// whatever the text is.
[[nodiscard]] Result<Record> decode_record(std::string_view kind, std::string_view body);

}  // namespace seedbed
