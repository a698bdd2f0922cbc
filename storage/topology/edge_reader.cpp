#include "storage/topology/edge_reader.h"

#include "storage/io/engine_kind.h"

#include <algorithm>
#include <utility>

namespace sluice {

std::unique_ptr<EdgeReader> EdgeReader::open(std::span<const EdgeFile> files,
                                             IoChoice io,
                                             std::uint64_t num_edges,
                                             std::uint64_t staging_bytes,
                                             MemoryLedger* ledger) {
  const std::uint64_t bytes = std::max(staging_bytes, kLeastStaging);
  IoEngineOptions options;
  options.kind = engine_kind(io);
  IoEngineChoice choice = make_io_engine(options).or_throw();
  auto reader = std::make_unique<BlockReader>(std::move(choice.engine));
  for (const EdgeFile& file : files) (void)reader->attach(file.file, file.page_sums).or_throw();
  auto staging = std::make_shared<AlignedBuffer>(
      AlignedBuffer::make(bytes, ledger, "topology staging").or_throw());
  const BufferSlot slot = reader->attach(staging).or_throw();
  PositionSort sort(num_edges, bytes / (2 * sizeof(WantedPosition)), ledger);
  return std::make_unique<EdgeReader>(EdgeReader{
      std::move(reader), std::move(choice.reason), std::move(staging), slot, std::move(sort)});
}

}  // namespace sluice
