#include "pipeline/stream/window_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sluice/units.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sluice {
namespace {

std::uint64_t rows_of(const Batch& batch, std::size_t type) {
  return static_cast<std::uint64_t>(batch.nodes[type].ids.numel());
}

// Numbers a mini-batch's rows of a type: into `numbers`. False where more than `most` would be
// there.
bool number_rows(WindowRows& rows,
                 const Batch& batch,
                 std::size_t type,
                 std::uint64_t most,
                 MemoryLedger& ledger,
                 Array& numbers) {
  const Array& ids = batch.nodes[type].ids;
  numbers = Array::make(DType::kU32, {ids.numel()}, &ledger, "batches").or_throw();
  const std::span<const std::uint64_t> wanted = ids.as<std::uint64_t>();
  return rows.index->insert_all(wanted, most, numbers.as<std::uint32_t>()) == wanted.size();
}

}  // namespace

std::uint64_t numbering_bytes(const WindowLimits& limits) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t rows : limits.rows)
    bytes += rows * (RowIndex::kBytesAnId + sizeof(std::uint32_t));
  return bytes;
}

void begin_rows(Window& window,
                const Batch& first,
                const WindowLimits& limits,
                const GraphData::State& data,
                MemoryLedger& ledger) {
  window.rows.resize(data.features.size());
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!data.on_disk(type)) continue;
    const std::uint64_t wanted = std::max(limits.rows[type], rows_of(first, type));
    window.rows[type] =
        std::make_unique<WindowRows>(std::min(wanted, limits.most_rows[type]), ledger);
  }
}

std::uint64_t bytes_in(const Window& window, const Batch& batch) {
  std::uint64_t bytes = block_bytes(batch);
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (window.rows[type]) bytes += rows_of(batch, type) * sizeof(std::uint32_t);
  }
  return bytes;
}

bool add_rows(Window& window,
              const Batch& batch,
              const WindowLimits& limits,
              MemoryLedger& ledger) {
  const std::vector<std::uint64_t>& most = window.batches.empty() ? limits.most_rows : limits.rows;
  const RowCounts before = count_rows(window);
  std::vector<Array> numbers(window.rows.size());
  bool fits = true;
  for (std::size_t type = 0; fits && type < window.rows.size(); ++type) {
    if (window.rows[type])
      fits = number_rows(*window.rows[type], batch, type, most[type], ledger, numbers[type]);
  }
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    if (fits)
      window.rows[type]->numbers.push_back(std::move(numbers[type]));
    else
      window.rows[type]->index->truncate(*before[type]);
  }
  return fits;
}

void refuse(const Window& window, const Batch& batch, const WindowLimits& limits) {
  std::vector<std::string> needs, room;
  if (limits.block_bytes != WindowLimits::kNoBlocks) {
    needs.push_back(format_bytes(block_bytes(batch)));
    room.push_back(format_bytes(limits.block_bytes));
  }
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    needs.push_back(format_count(rows_of(batch, type)) + " rows");
    room.push_back(format_count(limits.most_rows[type]) + " rows");
  }
  throw Error(ErrorCode::kResource,
              fmt::format("mini-batch {} of epoch {} needs {}; a window has room for {}",
                          batch.index,
                          batch.epoch,
                          fmt::join(needs, " and "),
                          fmt::join(room, " and ")),
              "raise [memory] host, or lower batch_size or fanout");
}

std::vector<Array> take_last_numbers(Window& window) {
  std::vector<Array> numbers(window.rows.size());
  for (std::size_t type = 0; type < numbers.size(); ++type) {
    if (window.rows[type]) numbers[type] = std::exchange(window.rows[type]->numbers.back(), {});
  }
  return numbers;
}

void put_numbers(Window& window, std::size_t index, std::vector<Array> numbers) {
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (window.rows[type]) window.rows[type]->numbers[index] = std::move(numbers[type]);
  }
}

RowCounts count_rows(const Window& window) {
  RowCounts counts;
  for (const auto& rows : window.rows)
    counts.push_back(rows ? std::optional(rows->size()) : std::nullopt);
  return counts;
}

void begin_known_rows(Window& window, const RowCounts& counts, std::size_t batches) {
  for (const auto& count : counts) {
    window.rows.push_back(count ? std::make_unique<WindowRows>(*count) : nullptr);
    if (count) window.rows.back()->numbers.resize(batches);
  }
}

void number_again(Window& window, std::size_t index, MemoryLedger& ledger) {
  for (std::size_t type = 0; type < window.rows.size(); ++type) {
    if (!window.rows[type]) continue;
    WindowRows& rows = *window.rows[type];
    if (!rows.index) rows.index.emplace(rows.known, ledger);
    if (!number_rows(rows, window.batches[index], type, rows.known, ledger, rows.numbers[index]))
      throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
  }
}

}  // namespace sluice
