#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "store/store.h"

namespace seedbed {

/// A disk under a store, for the one suite that every Store passes.
class StoreWorld {
 public:
  virtual ~StoreWorld() = default;

  /// A store over what the disk holds now; made when there is nothing yet.
  virtual Result<OpenedStore> open() = 0;
  /// The process that owns the store dies without a word; what it had committed stays.
  virtual void kill(std::unique_ptr<Store> store) = 0;
  /// Commits fail for want of room until it is given back; false: this disk cannot be filled.
  virtual bool set_full(bool full) = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreWorld>()> make;
};

class StoreContract : public ::testing::TestWithParam<StoreKind> {};

}  // namespace seedbed
