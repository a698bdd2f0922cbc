// The cases of bench/embedding: tables of rows that are trained, in memory and on disk.
#pragma once

#include <sluice/embedding_table.h>
#include <sluice/threads.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::bench {

struct EmbeddingSizes {
  std::string dir = ".";
  std::string optimizer = "adagrad";
  std::uint64_t rows = 100'000;
  std::uint64_t dim = 100;      ///< values a row
  std::uint64_t times = 4;      ///< a table to its cache
  std::uint64_t window = 5000;  ///< rows that a mini-batch asks for
  std::uint64_t windows = 30;   ///< mini-batches
  std::uint64_t together = 1;   ///< mini-batches whose rows are read at once, at the most
  std::uint64_t partitions = 16;
  std::uint64_t slots = 4;  ///< partitions that are trained in; a spare one comes beside them
  std::uint64_t rounds = 3;
  std::uint64_t threads = 0;
};

/// Bytes and seconds of a commit when 1 %, 10 % and 100 % of the rows changed.
void commit_case(const EmbeddingSizes& sizes);
/// gather and update of windows of random rows, from a table several times its cache.
void windows_case(const EmbeddingSizes& sizes);
/// Partitions read and written in the order of an epoch, nothing computed.
void partitions_case(const EmbeddingSizes& sizes);
/// A step of each optimizer, rows in memory.
void steps_case(const EmbeddingSizes& sizes);

// What they share.

EmbeddingTableOptions table_options(const EmbeddingSizes& sizes,
                                    const std::filesystem::path& folder,
                                    ThreadArena& threads);
/// Random bits in (-1, 1).
std::vector<float> gradients_of(std::uint64_t rows, std::uint64_t dim);
/// A step of every row, in windows of so many: from then on all are on disk, once committed.
void touch_all(EmbeddingTable& table, std::uint64_t window);

}  // namespace sluice::bench
