#pragma once

#include <string>

namespace seedbed {

/// Whether the folder lies on a file system that other hosts may share, or that gives no shared
/// memory between processes: NFS, SMB, Lustre, GPFS, 9p, every FUSE, and the like. WAL does not
/// work there.
[[nodiscard]] bool on_network_disk(const std::string& folder);

}  // namespace seedbed
