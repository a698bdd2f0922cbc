// All nodes of a type, as mini-batches of nodes that follow each other, without layers: what models
// read of a node by itself. Features, learned rows and degrees come as they do in training.
#pragma once

#include "core/progress.h"
#include "train/parts.h"

#include <sluice/batch.h>
#include <sluice/loader.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice {

/// A loader's share of what the ledger has left, by its first mini-batch. Throws kResource.
LoaderMemory loader_memory(Loader& loader, const MemoryLedger& ledger);

/// Calls take(batch, number of its first node) for each mini-batch, in order, with the model in
/// evaluation mode and its learned rows ready. The features' caches are gone afterwards. Throws
/// Error: kInterrupted, kResource, what loaders throw. @return what was read
/// @param chunk nodes of a mini-batch; at least 1
LoaderStats sweep_nodes(Parts& parts,
                        std::size_t type,
                        std::uint64_t chunk,
                        Progress& bar,
                        const std::function<void(const Batch& batch, std::uint64_t first)>& take);

}  // namespace sluice
