// sluice-prep as a command: what its tests share.
#pragma once

#include "support/process.h"  // IWYU pragma: export

#include <string>
#include <vector>

namespace sluice::test {

inline Outcome prep(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), tool("sluice-prep"));
  return run(arguments);
}

}  // namespace sluice::test
