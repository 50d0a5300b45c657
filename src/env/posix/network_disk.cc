#include "env/posix/network_disk.h"

#include <sys/vfs.h>

namespace seedbed {
namespace {

// f_type of statfs(2); most are in linux/magic.h, the others in the file systems' own sources.
bool is_network_type(unsigned long type) {
  switch (type) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x5346414F:  // AFS
    case 0x73757245:  // Coda
    case 0x564C:      // NCP
    case 0x01021997:  // 9p
    case 0x00C36400:  // Ceph
    case 0x7461636F:  // OCFS2
    case 0x01161970:  // GFS2
    case 0x19830326:  // BeeGFS
    case 0xAAD7AAEA:  // PanFS
    case 0x20030528:  // OrangeFS
    case 0x786F4256:  // VirtualBox shared folders
    case 0x65735546:  // FUSE: sshfs, and who knows what
      return true;
    default:
      return false;
  }
}

}  // namespace

bool on_network_disk(const std::string& folder) {
  struct statfs info = {};
  if (::statfs(folder.c_str(), &info) != 0) return false;
  return is_network_type(static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL);
}

}  // namespace seedbed
