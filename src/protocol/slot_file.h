#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/exit_record.h"
#include "protocol/text_record.h"

// STUDY/slots/N: who holds slot N, and what runs there. The text record `seedbed_slot=1`, padded
// with line feeds to kSlotFileBytes, so that the shim renews it in place by one write. A reader
// that meets a half renewed one sees it by the checksum, and looks again.

namespace seedbed {

inline constexpr std::size_t kSlotFileBytes = 1024;
inline constexpr std::string_view kSlotFileKind = "seedbed_slot";
inline constexpr int kSlotFileVersion = 1;

struct SlotFile {
  SlotNumber slot = 0;
  ProcessIdentity shim;
  std::string socket;    ///< where it listens
  AttemptId attempt;     ///< the latest it started; 0.0: none yet
  std::int64_t pid = 0;  ///< of the attempt's main process, same boot and host as the shim
  std::uint64_t start_ticks = 0;

  bool operator==(const SlotFile&) const = default;
};

/// Exactly kSlotFileBytes; nothing when it does not fit (a host name or socket out of reason).
[[nodiscard]] inline std::optional<std::string> encode_slot_file(const SlotFile& file) {
  TextRecordWriter writer(kSlotFileKind, kSlotFileVersion);
  writer.add("slot", file.slot);
  writer.add("shim_pid", file.shim.pid);
  writer.add("shim_start_ticks", file.shim.start_ticks);
  writer.add("boot_id", file.shim.boot_id);
  writer.add("host", file.shim.host);
  writer.add("socket", file.socket);
  writer.add("attempt", file.attempt.text());
  writer.add("pid", file.pid);
  writer.add("start_ticks", file.start_ticks);
  std::string text = std::move(writer).finish();
  if (text.size() > kSlotFileBytes) return std::nullopt;
  text.resize(kSlotFileBytes, '\n');
  return text;
}

[[nodiscard]] inline Result<SlotFile> decode_slot_file(std::string_view text) {
  while (text.size() > 1 && text.ends_with("\n\n")) text.remove_suffix(1);
  const auto fields = TextRecord::parse(text, kSlotFileKind, kSlotFileVersion);
  if (!fields) return propagate(fields);
  const auto slot = fields->number<SlotNumber>("slot");
  const auto pid = fields->number<std::int64_t>("shim_pid");
  if (!slot || !pid || *pid <= 0) return fail(ErrorCode::damaged, "names no slot or no shim");
  SlotFile file;
  file.slot = *slot;
  file.shim.pid = *pid;
  file.shim.start_ticks = fields->number<std::uint64_t>("shim_start_ticks").value_or(0);
  file.shim.boot_id = fields->text("boot_id");
  file.shim.host = fields->text("host");
  file.socket = fields->text("socket");
  file.attempt = AttemptId::parse(fields->text("attempt")).value_or(AttemptId{});
  file.pid = fields->number<std::int64_t>("pid").value_or(0);
  file.start_ticks = fields->number<std::uint64_t>("start_ticks").value_or(0);
  return file;
}

}  // namespace seedbed
