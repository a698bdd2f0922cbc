// What every preparation command is handed: budget, threads, log, progress. Nothing of it is
// global.
#pragma once

#include "core/log.h"
#include "core/progress.h"
#include "core/threads.h"

#include <sluice/memory.h>

namespace sluice {

struct PrepContext {
  MemoryLedger& ledger;
  ThreadArena& arena;
  Logger& log;
  ProgressStyle progress = ProgressStyle::kSilent;
};

}  // namespace sluice
