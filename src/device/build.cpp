// Compiled into the program and into the device library alike: each says what it is.
#include "device/library.h"

namespace sluice {

const char* device_build() {
  return SLUICE_VERSION ", " __VERSION__;
}

}  // namespace sluice
