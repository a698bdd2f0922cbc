// EdgeSweep: an operator's lists from front to back, in batches of whole lists or parts of one, as
// they are read. A pass reads each byte once.
#pragma once

#include "prep/propagate/edge_operator.h"
#include "storage/format/file_cursor.h"
#include "storage/format/list_cursor.h"
#include "storage/format/manifest.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

class EdgeSweep {
 public:
  /// Lists of targets that follow each other. A list that does not end in a piece of the file comes
  /// in parts, as the last of one batch and the first of the next.
  struct Batch {
    std::uint64_t first_target = 0;
    std::span<const std::uint64_t> ends;  ///< by target: where its part ends in `neighbours`
    std::span<const std::byte> neighbours;
    DType width = DType::kU32;  ///< of a neighbour: kU32 or kU64
    bool continues = false;     ///< the first target had a part in the batch before
    bool goes_on = false;       ///< the last target has a part in the next

    std::uint64_t begin(std::size_t at) const { return at == 0 ? 0 : ends[at - 1]; }
    std::size_t num_targets() const { return ends.size(); }
  };

  /// @param max_targets of a batch
  EdgeSweep(const std::filesystem::path& dataset,
            const Manifest& manifest,
            const EdgeOperator& op,
            std::size_t max_targets,
            MemoryLedger& ledger);

  /// Valid until the next call; nothing at the end. Throws Error: kData for lists that do not fit
  /// the manifest's counts.
  std::optional<Batch> next();

 private:
  EdgeSweep(const std::filesystem::path& dataset,
            const Manifest& manifest,
            const RelationLists& lists,
            std::size_t max_targets,
            MemoryLedger& ledger);
  std::uint64_t next_end();
  void refill();

  std::filesystem::path offsets_path_;
  std::uint64_t targets_, edges_;
  DType width_;
  std::size_t max_targets_;
  Charge charge_;
  std::vector<std::uint64_t> ends_;
  ListCursor lists_;
  FileCursor neighbours_;
  std::span<const std::byte> piece_;  // what is left of it
  std::uint64_t target_ = 0;          // whose list comes now
  std::uint64_t list_end_ = 0;        // of that list, in the file
  std::uint64_t edge_ = 0;            // of the file, that comes now
  bool carried_ = false;              // part of the list has been given
};

}  // namespace sluice
