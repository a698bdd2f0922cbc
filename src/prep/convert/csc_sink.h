// CscSink: where the conversion's output goes, from the first target to the last: into files, or
// into memory. One thread at a time.
#pragma once

#include "core/side_thread.h"
#include "storage/format/data_file_writer.h"
#include "storage/format/list_writer.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/dtype.h>
#include <sluice/memory.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

/// Room for the next targets' ends and in-edges. Elements are of the sink's dtypes.
struct CscRoom {
  std::uint64_t* ends = nullptr;  ///< [targets]: where each target's in-edges end
  std::byte* neighbours = nullptr;
  std::byte* ids = nullptr;  ///< null without edge ids
};

class CscSink {
 public:
  CscSink(DType neighbour, std::optional<DType> id) : neighbour_(neighbour), id_(id) {}
  virtual ~CscSink() = default;

  DType neighbour_dtype() const noexcept { return neighbour_; }
  std::optional<DType> id_dtype() const noexcept { return id_; }
  std::uint64_t edge_bytes() const {
    return size_of(neighbour_) + (id_ ? size_of(*id_) : std::size_t{0});
  }

  /// Room for so many targets and edges. Valid until commit().
  virtual CscRoom room(std::uint64_t targets, std::uint64_t edges) = 0;
  /// The first so many of the room are filled: they are output.
  virtual void commit(std::uint64_t targets, std::uint64_t edges) = 0;
  /// All is committed.
  virtual void finish() = 0;

 private:
  DType neighbour_;
  std::optional<DType> id_;
};

/// Single edges of a room, by the sink's dtypes. Not for hot loops.
std::uint64_t source_of_edge(const CscSink& sink, const CscRoom& room, std::uint64_t at);
void set_edge(const CscSink& sink,
              const CscRoom& room,
              std::uint64_t at,
              std::uint64_t source,
              std::uint64_t id);
/// Moves `count` edges; the places may overlap.
void move_edges(const CscSink& sink,
                const CscRoom& room,
                std::uint64_t from,
                std::uint64_t to,
                std::uint64_t count);

/// Whole in memory. What the benchmark sets beside other libraries, and what is small enough.
class MemoryCsc final : public CscSink {
 public:
  /// @param edges at most so many will come
  MemoryCsc(DType neighbour,
            std::optional<DType> id,
            std::uint64_t targets,
            std::uint64_t edges,
            MemoryLedger* ledger);
  CscRoom room(std::uint64_t targets, std::uint64_t edges) override;
  void commit(std::uint64_t targets, std::uint64_t edges) override;
  void finish() override {}

  std::span<const std::uint64_t> offsets() const {
    return {reinterpret_cast<const std::uint64_t*>(offsets_.data()), targets_ + 1};
  }
  std::uint64_t edges() const noexcept { return edges_; }
  const std::byte* neighbours() const noexcept { return neighbours_.data(); }
  const std::byte* ids() const noexcept { return ids_.data(); }

 private:
  AlignedBuffer offsets_, neighbours_, ids_;
  std::uint64_t targets_ = 0;
  std::uint64_t edges_ = 0;
};

/// Into data files. While one part is filled, the one before is written.
class FileCsc final : public CscSink {
 public:
  /// `lists` and `neighbours` are new; `ids` null without edge ids. Held by reference.
  FileCsc(DType neighbour,
          std::optional<DType> id,
          ListWriter& lists,
          DataFileWriter& neighbours,
          DataFileWriter* ids,
          MemoryLedger* ledger);
  CscRoom room(std::uint64_t targets, std::uint64_t edges) override;
  void commit(std::uint64_t targets, std::uint64_t edges) override;
  void finish() override;

 private:
  struct Part {
    AlignedBuffer memory;
    CscRoom room;
  };
  ListWriter& lists_;
  DataFileWriter& neighbours_;
  DataFileWriter* ids_;
  MemoryLedger* ledger_;
  std::array<Part, 2> parts_;
  int filling_ = 0;
  SideThread writing_;  // of the other part; last: it uses the others
};

}  // namespace sluice
