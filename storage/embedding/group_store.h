// GroupStore: the groups of an embedding table on disk, in generations that share what did not
// change between them.
//
// A group has a place in each of up to eight files, the sides, at the same offset. A generation
// says for each group which side has it, or that it was never written and is a function of its
// number. What is written after a commit goes to a side that no generation has that group on; so a
// generation is never written over, a commit writes nothing but what changed since the last (and
// its own manifest), and groups lie in the order of their rows on every side.
//
// A generation whose manifest is damaged is as good as gone: nothing of it is held, and its file
// stays until keep() does not name it. Reads and writes go through one staging buffer, by one
// thread at a time. Throws Error.
#pragma once

#include "storage/embedding/initial_values.h"
#include "storage/embedding/row_layout.h"
#include "storage/embedding/table_manifest.h"
#include "storage/io/block_reader.h"
#include "storage/io/directory_lock.h"

#include <sluice/array.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sluice {

using EngineMaker = std::function<std::unique_ptr<IoEngine>()>;

struct GroupStoreOptions {
  std::filesystem::path folder;  ///< empty: nothing is ever written
  RowLayout layout;
  std::string optimizer;  ///< its name, for the manifest
  EngineMaker make_engine;
  MemoryLedger* ledger = nullptr;
  TableAccess access = TableAccess::kWrite;
};

/// A group and the byte of the staging buffer at which it lies.
struct StagedGroup {
  std::uint64_t group;
  std::uint64_t place;
};

class GroupStore {
 public:
  /// A new one, or the generation of a manifest. @param opened null: new
  GroupStore(GroupStoreOptions options, InitialValues initial, const TableManifest* opened);
  GroupStore(const GroupStore&) = delete;
  GroupStore& operator=(const GroupStore&) = delete;

  const RowLayout& layout() const { return options_.layout; }
  const InitialValues& initial() const { return initial_; }
  /// Of at least two groups: one half may be read into while the other is written.
  static std::uint64_t staging_bytes(const RowLayout& layout);
  std::span<std::byte> staging() { return staging_->bytes(); }

  /// Whether the group is on disk; else its rows are the initial ones.
  bool written(std::uint64_t group) const { return sides()[group] != kNoSide; }
  /// A group that never was on disk: initial values, states of zeros, zeros behind its rows.
  void make(std::uint64_t group, std::byte* to) const;

  /// Reads and checks groups that are on disk. @pre ascending groups and places; what lies between
  /// two places is free to be written to
  void read(std::span<const StagedGroup> groups);
  /// Writes groups as they lie. @pre ascending; nothing behind the rows of a group but zeros
  void write(std::span<const StagedGroup> groups) { exchange({}, groups); }
  /// Both at once. @pre none is among both, and they share no bytes of the staging buffer
  void exchange(std::span<const StagedGroup> reads, std::span<const StagedGroup> writes);
  /// Whether two groups would be written to the same side.
  bool same_side_written(std::uint64_t group, std::uint64_t other) const {
    return side_to_write(group) == side_to_write(other);
  }
  /// Whether a group on disk would be written to where it lies, on the side that another is written
  /// to: as it is, it may be part of the other's request.
  bool rewritable_beside(std::uint64_t group, std::uint64_t other) const {
    return written(group) && sides()[group] == side_to_write(group) &&
           sides()[group] == side_to_write(other);
  }

  /// Throws kUsage where as many generations are kept as can be.
  void check_commit() const;
  /// Makes what was written a generation, and returns its number.
  std::uint64_t commit();
  void keep(std::span<const std::uint64_t> generations);
  /// @pre nothing of it is in the staging buffer. The last group, if it is on disk, gets the
  /// initial values of its new rows.
  void grow(std::uint64_t rows);

  std::uint64_t bytes_read() const { return gone_read_ + (reader_ ? reader_->stats().bytes : 0); }
  std::uint64_t bytes_written() const {
    return gone_written_ + (writer_ ? writer_->stats().bytes : 0) + manifest_bytes_;
  }

 private:
  struct Side {
    std::shared_ptr<File> file;
    std::optional<FileSlot> slot;  // in the reader
    bool unsynced = false;
  };

  std::span<std::uint8_t> sides() { return sides_.as<std::uint8_t>(); }
  std::span<const std::uint8_t> sides() const { return sides_.as<std::uint8_t>(); }
  std::span<std::uint32_t> sums() { return sums_.as<std::uint32_t>(); }

  void take_arrays(const TableManifest* opened);
  void take_generations(const TableManifest* opened);
  void open_reader();
  Side& open_side(std::uint8_t side);
  bool reads_alone() const { return options_.access == TableAccess::kRead; }
  void lock_folder();
  void check_sides() const;
  void punch_unheld();
  void hold_all();
  void hold(std::span<const std::uint8_t> sides_of_one);
  std::uint8_t side_to_write(std::uint64_t group) const;
  bool intact(const StagedGroup& group);
  void read_again(const StagedGroup& group);
  std::vector<BlockRead> read_requests(std::span<const StagedGroup> groups);
  std::vector<BlockWrite> write_requests(std::span<const StagedGroup> groups);
  BlockRead request(std::uint8_t side, const StagedGroup& first, std::uint64_t groups);

  GroupStoreOptions options_;
  InitialValues initial_;
  std::optional<DirectoryLock> lock_;
  std::shared_ptr<AlignedBuffer> staging_;
  BufferSlot staging_slot_{};
  std::unique_ptr<BlockReader> reader_;
  std::unique_ptr<BlockWriter> writer_;
  std::array<Side, kMostSides> sides_files_;
  Array sides_;  // u8 [groups]: of each as it is now
  Array sums_;   // u32 [pages]: likewise
  // By generation, u8 [its groups]; and in one, a bit for each side that any of them has a group
  // on.
  std::map<std::uint64_t, Array> generations_;
  std::set<std::uint64_t> damaged_;  // generations without a list
  std::vector<std::uint8_t> held_;
  Charge held_charge_;
  std::uint64_t last_generation_ = 0;
  std::uint64_t gone_read_ = 0, gone_written_ = 0;  // of readers before this one
  std::uint64_t manifest_bytes_ = 0;
};

}  // namespace sluice
