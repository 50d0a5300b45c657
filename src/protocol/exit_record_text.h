#pragma once

#include <string>
#include <string_view>

#include "protocol/exit_record.h"
#include "protocol/text_record.h"

// attempt-N.exit: the text record `seedbed_exit=1` with the fields of ExitRecord under the names
// below. The shim writes it beside its place and renames it, so it is there whole or not at all;
// after a loss of power it may still be torn, which the checksum shows: then it counts as missing.

namespace seedbed {

inline constexpr std::string_view kExitRecordKind = "seedbed_exit";
inline constexpr int kExitRecordVersion = 1;

[[nodiscard]] inline std::string encode_exit_record(const ExitRecord& record) {
  TextRecordWriter writer(kExitRecordKind, kExitRecordVersion);
  writer.add("attempt", record.attempt.text());
  writer.add("outcome", outcome_word(record.outcome.kind));
  writer.add("code", record.outcome.code);
  writer.add("detail", record.outcome.detail);
  writer.add("pid", record.process.pid);
  writer.add("start_ticks", record.process.start_ticks);
  writer.add("boot_id", record.process.boot_id);
  writer.add("host", record.process.host);
  writer.add("started_ms", record.started_ms);
  writer.add("ended_ms", record.ended_ms);
  writer.add("wall_ms", record.wall_ms);
  writer.add("cpu_ms", record.cpu_ms);
  writer.add("peak_memory", record.peak_memory);
  writer.add("log_bytes", record.log_bytes);
  writer.add("stop_asked", record.stop_asked ? 1 : 0);
  writer.add("fingerprint", record.fingerprint);
  return std::move(writer).finish();
}

/// Errors: `damaged`, with words that follow the file's name well.
[[nodiscard]] inline Result<ExitRecord> decode_exit_record(std::string_view text) {
  const auto fields = TextRecord::parse(text, kExitRecordKind, kExitRecordVersion);
  if (!fields) return propagate(fields);
  const auto attempt = AttemptId::parse(fields->text("attempt"));
  const auto kind = outcome_from_word(fields->text("outcome"));
  if (!attempt || !kind) {
    return fail(ErrorCode::damaged, "names no attempt or an outcome that is not known");
  }
  ExitRecord record;
  record.attempt = *attempt;
  record.outcome.kind = *kind;
  record.outcome.code = fields->number<int>("code").value_or(0);
  record.outcome.detail = fields->text("detail");
  record.process.pid = fields->number<std::int64_t>("pid").value_or(0);
  record.process.start_ticks = fields->number<std::uint64_t>("start_ticks").value_or(0);
  record.process.boot_id = fields->text("boot_id");
  record.process.host = fields->text("host");
  record.started_ms = fields->number<std::int64_t>("started_ms").value_or(0);
  record.ended_ms = fields->number<std::int64_t>("ended_ms").value_or(0);
  record.wall_ms = fields->number<std::int64_t>("wall_ms").value_or(0);
  record.cpu_ms = fields->number<std::int64_t>("cpu_ms").value_or(0);
  record.peak_memory = fields->number<std::uint64_t>("peak_memory").value_or(0);
  record.log_bytes = fields->number<std::uint64_t>("log_bytes").value_or(0);
  record.stop_asked = fields->number<int>("stop_asked").value_or(0) != 0;
  record.fingerprint = fields->text("fingerprint");
  return record;
}

}  // namespace seedbed
