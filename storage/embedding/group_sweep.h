// GroupSweep: rows from memory to a GroupStore and from there to memory, in one pass over the
// groups in the order of the disk. A group that is overwritten in part is read, merged and written;
// rows that are wanted from it are taken on that occasion. The staging buffer has two halves: one
// is written while the next groups are read into the other.
//
// A disk takes a request of some pages in little more time than one of a single page. So gaps
// between groups that are wanted are read through, and short ones between groups that are written
// are written through, with what lies there, where that moves no group to another side.
#pragma once

#include "storage/embedding/group_store.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A row and where it lies in memory: its values and then its state.
struct RowMove {
  std::uint64_t row;
  float* at;
};

class GroupSweep {
 public:
  /// Reading through so many bytes costs no more than another request.
  static constexpr std::uint64_t kMostGap = 64 << 10;
  /// Writing through so many bytes, likewise; they wear the disk, and were read before.
  static constexpr std::uint64_t kMostWriteGap = 16 << 10;

  explicit GroupSweep(GroupStore& store) : store_(store) {}

  /// Writes rows and reads others. Both ascend, and no row is among both.
  /// @param lead reads[i], for i >= lead, goes where writes[i - lead] lies: it is put there once
  /// that was taken
  void run(std::span<const RowMove> writes, std::span<const RowMove> reads, std::size_t lead);

  /// Reads the first `floats` of rows alone.
  void read(std::span<const RowMove> reads, std::uint32_t floats);

 private:
  // What is to be done with a group.
  struct Visit {
    std::uint64_t group;
    std::uint64_t place;  // in the staging buffer, if it is staged
    std::size_t writes_end, reads_end;
    bool written;
    bool whole;    // all its rows are written
    bool fetched;  // from the disk
    bool staged;   // written, fetched or lying between such
  };

  void pass(std::span<const RowMove> writes, std::span<const RowMove> reads, std::size_t lead);
  void plan();
  Visit next_visit(std::size_t write, std::size_t read) const;
  std::uint64_t half_bytes() const;
  const Visit* last_staged() const;
  bool find_place(Visit& visit, std::uint64_t begin, std::uint64_t& used) const;
  void stage_gap(const Visit& next);
  void visit(const Visit& visit);
  void take(const RowMove& read, const Visit& visit) const;
  void list_written();
  void list_gap(std::size_t first, std::size_t last);

  GroupStore& store_;
  std::uint32_t floats_ = 0;  // of a row that are read
  std::span<const RowMove> writes_, reads_;
  std::size_t lead_ = 0;
  std::size_t write_ = 0, read_ = 0;  // the next ones
  std::uint64_t half_ = 0;            // of the staging buffer, that is filled
  std::vector<Visit> visits_;         // of one filling of it
  std::vector<StagedGroup> fetched_, written_;
  std::vector<RowMove> deferred_;  // reads whose places were not free yet
};

}  // namespace sluice
