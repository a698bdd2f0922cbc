#include "pipeline/stream/window_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sluice/units.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sluice {
namespace {

// Numbers the rows that a mini-batch asks of a table, into `numbers`. False where more than `most`
// would be there.
bool number_rows(WindowRows& rows,
                 const Batch& batch,
                 const FeatureTable& table,
                 std::uint64_t most,
                 MemoryLedger& ledger,
                 Array& numbers) {
  const auto all = static_cast<std::int64_t>(count_rows(batch, table));
  numbers = Array::make(DType::kU32, {all}, &ledger, "batches").or_throw();
  std::span<std::uint32_t> out = numbers.as<std::uint32_t>();
  for (const std::span<const std::uint64_t> wanted : wanted_rows(batch, table)) {
    if (rows.index->insert_all(wanted, most, out.first(wanted.size())) != wanted.size())
      return false;
    out = out.subspan(wanted.size());
  }
  return true;
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
                FeatureTables tables,
                MemoryLedger& ledger) {
  window.rows.resize(tables.size());
  for (std::size_t table = 0; table < window.rows.size(); ++table) {
    if (!tables[table].on_disk()) continue;
    const std::uint64_t wanted = std::max(limits.rows[table], count_rows(first, tables[table]));
    window.rows[table] =
        std::make_unique<WindowRows>(std::min(wanted, limits.most_rows[table]), ledger);
  }
}

std::uint64_t bytes_in(const Window& window, const Batch& batch, FeatureTables tables) {
  std::uint64_t bytes = block_bytes(batch);
  for (std::size_t table = 0; table < window.rows.size(); ++table) {
    if (window.rows[table]) bytes += count_rows(batch, tables[table]) * sizeof(std::uint32_t);
  }
  return bytes;
}

bool add_rows(Window& window,
              const Batch& batch,
              const WindowLimits& limits,
              FeatureTables tables,
              MemoryLedger& ledger) {
  const std::vector<std::uint64_t>& most = window.batches.empty() ? limits.most_rows : limits.rows;
  const RowCounts before = count_rows(window);
  std::vector<Array> numbers(window.rows.size());
  bool fits = true;
  for (std::size_t table = 0; fits && table < window.rows.size(); ++table) {
    if (window.rows[table])
      fits = number_rows(
          *window.rows[table], batch, tables[table], most[table], ledger, numbers[table]);
  }
  for (std::size_t table = 0; table < window.rows.size(); ++table) {
    if (!window.rows[table]) continue;
    if (fits)
      window.rows[table]->numbers.push_back(std::move(numbers[table]));
    else
      window.rows[table]->index->truncate(*before[table]);
  }
  return fits;
}

void refuse(const Window& window,
            const Batch& batch,
            const WindowLimits& limits,
            FeatureTables tables) {
  std::vector<std::string> needs, room;
  if (limits.block_bytes != WindowLimits::kNoBlocks) {
    needs.push_back(format_bytes(block_bytes(batch)));
    room.push_back(format_bytes(limits.block_bytes));
  }
  for (std::size_t table = 0; table < window.rows.size(); ++table) {
    if (!window.rows[table]) continue;
    needs.push_back(format_count(count_rows(batch, tables[table])) + " rows");
    room.push_back(format_count(limits.most_rows[table]) + " rows");
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
  for (std::size_t table = 0; table < numbers.size(); ++table) {
    if (window.rows[table]) numbers[table] = std::exchange(window.rows[table]->numbers.back(), {});
  }
  return numbers;
}

void put_numbers(Window& window, std::size_t index, std::vector<Array> numbers) {
  for (std::size_t table = 0; table < window.rows.size(); ++table) {
    if (window.rows[table]) window.rows[table]->numbers[index] = std::move(numbers[table]);
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

void number_again(Window& window, std::size_t index, FeatureTables tables, MemoryLedger& ledger) {
  for (std::size_t table = 0; table < window.rows.size(); ++table) {
    if (!window.rows[table]) continue;
    WindowRows& rows = *window.rows[table];
    if (!rows.index) rows.index.emplace(rows.known, ledger);
    if (!number_rows(
            rows, window.batches[index], tables[table], rows.known, ledger, rows.numbers[index]))
      throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
  }
}

}  // namespace sluice
