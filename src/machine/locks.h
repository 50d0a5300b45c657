#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "env/posix/files.h"
#include "resources/resources.h"

namespace seedbed {

/// What says to every other seedbed on this machine, of whatever user, that a core or a device is
/// lent: an abstract Unix socket of its name, bound by whoever holds it. It excludes others, cannot
/// go stale, and is gone with its last holder: the controller and, by passed descriptors, the
/// shims. Limit: one network namespace (a container with a network of its own does not see it).
///
/// Names are `seedbed/core/3` and `seedbed/gpu/UUID`; $SEEDBED_LOCKS puts another word in front,
/// for tests, and so does the token of a trial within which a study is run.
class MachineLocks {
 public:
  using Lock = std::shared_ptr<const Descriptor>;

  explicit MachineLocks(std::string name_space = default_name_space());
  [[nodiscard]] static std::string default_name_space();

  /// Takes all that the allocation names for the attempt. What others hold comes back; then nothing
  /// was taken for it.
  [[nodiscard]] Held take(AttemptId attempt, const Allocation& allocation);

  /// The locks that an attempt has taken, to be passed on to its shim.
  [[nodiscard]] std::vector<Lock> of(AttemptId attempt) const;

  /// The attempt has no need of them any more. They stay bound until `settle`, so that the next
  /// attempt on the same cores takes them over.
  void give_back(AttemptId attempt);
  void settle();

  /// What others hold of the inventory now. What we hold ourselves is not among it, nor what `ours`
  /// names: attempts of an earlier controller, whose shims still hold theirs.
  [[nodiscard]] Held look(const Inventory& inventory, const Held& ours) const;

 private:
  [[nodiscard]] std::string core_name(int core) const;
  [[nodiscard]] std::string device_name(const std::string& device) const;
  [[nodiscard]] bool hold(const std::string& name, std::vector<Lock>& taken);

  std::string name_space_;
  std::map<std::string, Lock> bound_;
  std::map<AttemptId, std::vector<Lock>> taken_;
};

}  // namespace seedbed
