// What a command of sluice-prep works with, and says nothing.
#pragma once

#include "core/log.h"
#include "core/progress.h"
#include "prep/prep_context.h"

#include <sluice/memory.h>
#include <sluice/threads.h>

#include <cstdint>
#include <memory>

namespace sluice::test {

struct SilentSession {
  explicit SilentSession(int threads = 2, std::uint64_t limit = std::uint64_t{1} << 30)
      : ledger(limit, "--memory"), arena(threads) {}
  MemoryLedger ledger;
  ThreadArena arena;
  std::shared_ptr<Logger> log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
};

}  // namespace sluice::test
