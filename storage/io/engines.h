// The makers of the single engines, for make_io_engine and for tests of one engine. Everyone else:
// make_io_engine.
#pragma once

#include "storage/io/io_engine.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace sluice {

/// How long an engine's destructor waits for requests in flight before it abandons them to the
/// kernel.
inline constexpr std::chrono::milliseconds kDrainGrace{1000};

/// kResource when the system refuses io_uring or offers one too old (before Linux 5.11).
Result<std::unique_ptr<IoEngine>> make_uring_engine(const IoEngineOptions& options);

/// pread(2) or a double of it: returns bytes or -1 with errno; called from many threads at a time.
using PreadCall = std::function<ssize_t(int fd, void* to, std::size_t bytes, off_t offset)>;

/// pwrite(2) or a double of it, alike.
using PwriteCall =
    std::function<ssize_t(int fd, const void* from, std::size_t bytes, off_t offset)>;

/// kResource when not even one thread can be started.
Result<std::unique_ptr<IoEngine>> make_pread_engine(const IoEngineOptions& options,
                                                    PreadCall read,
                                                    PwriteCall write = ::pwrite);
Result<std::unique_ptr<IoEngine>> make_pread_engine(const IoEngineOptions& options);

/// attach_file reads the whole file into RAM, charged to options.ledger as "files in memory". What
/// is written goes there and to the file.
Result<std::unique_ptr<IoEngine>> make_memory_engine(const IoEngineOptions& options);

/// Keeps what the kernel may still write to or read from alive until the process ends. Called with
/// requests in flight on a disk that does not answer: freeing would let a late answer overwrite
/// somebody else's memory, waiting would hang, and freeing later would give the ledger a charge
/// back after the ledger's own end. So it is leaked, on purpose.
void abandon(std::shared_ptr<void> state);

}  // namespace sluice
