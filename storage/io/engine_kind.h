// The engine that an option asks for.
#pragma once

#include "storage/io/io_engine.h"

#include <sluice/dataset.h>

namespace sluice {

constexpr IoEngineKind engine_kind(IoChoice choice) {
  switch (choice) {
    case IoChoice::kIoUring:
      return IoEngineKind::kIoUring;
    case IoChoice::kPread:
      return IoEngineKind::kPread;
    case IoChoice::kAuto:
      break;
  }
  return IoEngineKind::kAuto;
}

}  // namespace sluice
