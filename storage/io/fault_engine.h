// FaultEngine: wraps an engine and breaks it on purpose, reproducibly by seed. For tests of
// everything above the seam.
#pragma once

#include "storage/io/io_engine.h"

#include <cstdint>
#include <memory>

namespace sluice {

/// What becomes of a write, and of all that follow it.
enum class WriteFault {
  kNone,
  kEio,     ///< nothing is written; -EIO
  kEnospc,  ///< nothing is written; -ENOSPC
  kTorn,    ///< the first half of its pages is written; -EIO
  kKill,    ///< as kTorn, and from then on nothing is read or written: as if the process had ended
  kStall,   ///< never completes
};

/// Chances per request, in 0..1; drawn from a RandomKey, so a plan and a sequence of requests fix
/// the faults.
struct FaultPlan {
  std::uint64_t seed = 1;
  double short_read = 0;   ///< completes with fewer bytes, the rest untouched
  double short_write = 0;  ///< completes with fewer pages, the others not written
  double eintr = 0;        ///< completes with -EINTR
  double eagain = 0;       ///< completes with -EAGAIN
  double enomem = 0;       ///< completes with -ENOMEM
  double eio = 0;          ///< completes with -EIO once; a repeat may succeed
  double corrupt = 0;      ///< one bit of the data that arrives is flipped once
  double refuse = 0;       ///< chance per submit call that nothing is accepted
  double delay = 0;        ///< completion is handed over a few reaps later than it came
  double stall = 0;        ///< never completes
  std::uint64_t bad_page = ~std::uint64_t{0};  ///< page index that always reads with a flipped bit
  std::uint64_t eio_page = ~std::uint64_t{0};  ///< page index whose reads always end in -EIO
  WriteFault write_fault = WriteFault::kNone;
  std::uint64_t from_write = 0;  ///< the write, counted from 0, that write_fault begins at
};

std::unique_ptr<IoEngine> make_fault_engine(std::unique_ptr<IoEngine> inner, const FaultPlan& plan);

}  // namespace sluice
