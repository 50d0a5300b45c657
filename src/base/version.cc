#include "base/version.h"

namespace seedbed {

const char* version() { return SEEDBED_VERSION; }

}  // namespace seedbed
