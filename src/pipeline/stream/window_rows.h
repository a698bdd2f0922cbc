// How the rows of a window are numbered: all that goes over what a mini-batch asks of the
// feature tables beside a window's rows.
#pragma once

#include "pipeline/data/feature_table.h"
#include "pipeline/stream/window_source.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

/// What numbering the rows of a window takes.
std::uint64_t numbering_bytes(const WindowLimits& limits);

/// Makes room in a new window for the rows it may have, or for all of a first mini-batch that has
/// more. Throws kResource.
void begin_rows(Window& window,
                const Batch& first,
                const WindowLimits& limits,
                FeatureTables tables,
                MemoryLedger& ledger);
/// What a mini-batch takes in a window: its blocks, and the numbers of its rows.
std::uint64_t bytes_in(const Window& window, const Batch& batch, FeatureTables tables);
/// Numbers the rows of the mini-batch that joins the window next. False where there is no room:
/// then the window is as it was. Throws kResource.
bool add_rows(Window& window,
              const Batch& batch,
              const WindowLimits& limits,
              FeatureTables tables,
              MemoryLedger& ledger);
/// Throws kResource: even a window of its own has no room for the mini-batch.
[[noreturn]] void refuse(const Window& window,
                         const Batch& batch,
                         const WindowLimits& limits,
                         FeatureTables tables);

/// By table, as append() of a BatchSpool takes them: the numbers of the last mini-batch, which
/// the window has no more.
std::vector<Array> take_last_numbers(Window& window);
void put_numbers(Window& window, std::size_t index, std::vector<Array> numbers);

/// How many there are by table; none where they come straight from memory.
using RowCounts = std::vector<std::optional<std::uint64_t>>;
RowCounts count_rows(const Window& window);
/// Of a window that was made before: so many, for mini-batches whose numbers are put in later.
void begin_known_rows(Window& window, const RowCounts& counts, std::size_t batches);
/// Numbers a mini-batch of such a window that was sampled again. @pre so were those before. Throws
/// Error.
void number_again(Window& window, std::size_t index, FeatureTables tables, MemoryLedger& ledger);

}  // namespace sluice
