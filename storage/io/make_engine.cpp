#include "storage/io/engines.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

Result<IoEngineChoice> chosen(Result<std::unique_ptr<IoEngine>> engine, std::string reason) {
  if (!engine) return std::move(engine).error();
  return IoEngineChoice{std::move(engine).value(), std::move(reason)};
}

/// io_uring where the system lets us, else the pread pool. Only a refusal of io_uring itself leads
/// to the pool.
Result<IoEngineChoice> probe(const IoEngineOptions& options) {
  auto uring = make_uring_engine(options);
  if (uring) return chosen(std::move(uring), "io_uring is available");
  return chosen(
      make_pread_engine(options),
      fmt::format(
          "{}; reading with {} pread threads", uring.error().message(), options.pread_threads));
}

}  // namespace

Result<IoEngineChoice> make_io_engine(const IoEngineOptions& options) {
  if (options.depth == 0 || options.depth > kMaxIoDepth || options.pread_threads < 1) {
    return Error(ErrorCode::kInternal,
                 fmt::format("an I/O engine of depth {} with {} pread threads cannot be made",
                             options.depth,
                             options.pread_threads),
                 fmt::format("depth is 1 to {}, and at least one thread is needed", kMaxIoDepth));
  }
  switch (options.kind) {
    case IoEngineKind::kAuto:
      return probe(options);
    case IoEngineKind::kIoUring:
      return chosen(make_uring_engine(options), "io_uring was asked for");
    case IoEngineKind::kPread:
      return chosen(make_pread_engine(options), "pread was asked for");
    case IoEngineKind::kMemory:
      return chosen(make_memory_engine(options), "memory was asked for");
  }
  return Error(ErrorCode::kInternal, "an I/O engine of an unknown kind was asked for");
}

void abandon(std::shared_ptr<void> state) {
  new std::shared_ptr<void>(std::move(state));  // NOLINT: never freed; the declaration says why
}

}  // namespace sluice
