// ListCursor: where the lists of a relation are, from the first node to the last, whatever the
// layout of its offsets: what all read offsets through that go over a relation on disk.
#pragma once

#include "storage/format/relation_lists.h"
#include "storage/format/value_cursor.h"

#include <sluice/memory.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace sluice {

class ListCursor {
 public:
  struct List {
    std::uint64_t node = 0;
    std::uint64_t begin = 0;  ///< positions in the neighbours' file
    std::uint64_t end = 0;
  };

  /// @param find the entry of a path. Throws Error, as it and ValueCursor do.
  ListCursor(const std::filesystem::path& root,
             const RelationLists& lists,
             const std::function<FileEntry(const std::string& path)>& find,
             MemoryLedger* ledger);
  /// Of files that `manifest` names.
  ListCursor(const std::filesystem::path& root,
             const Manifest& manifest,
             const RelationLists& lists,
             MemoryLedger* ledger);

  /// The next list; nothing after the last. Of listed nodes only theirs, else every node's, empty
  /// ones too. Ends are as they stand in the file: a damaged one may have them descend. Throws
  /// Error: kData for listed nodes that do not ascend below the node count.
  std::optional<List> next();

  /// Where the list of the next node ends, of nodes one after the other from 0: what offset
  /// [node + 1] is where every node has one. @pre called at most `nodes` times, and next() never
  std::uint64_t next_end();

  /// Where the last list that was given ends; before the first, where that begins.
  std::uint64_t end() const noexcept { return end_; }

 private:
  std::filesystem::path listed_path_;
  std::uint64_t nodes_;
  std::uint64_t lists_;
  ValueCursor offsets_;
  std::optional<ValueCursor> listed_;
  std::uint64_t given_ = 0;     // lists
  std::uint64_t end_ = 0;       // of the last of them
  std::uint64_t after_ = 0;     // the least node that the next list may be of
  std::uint64_t node_ = 0;      // of next_end(): whose end comes now
  std::uint64_t last_end_ = 0;  // of next_end(): of the node before
  std::optional<List> ahead_;   // of next_end(): the first list that is not behind it
};

}  // namespace sluice
