// EdgeSpool: the edges of a table under dense ids, kept in input order while the nodes that all
// tables name are being counted, so that no table of edges is parsed twice. Ids take 4 bytes as
// long as those of a chunk fit.
//
// One thread. What memory has no room for is on disk (ScratchBytes).
#pragma once

#include "prep/edge_stream.h"
#include "prep/spool/scratch_bytes.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

class EdgeSpool {
 public:
  EdgeSpool(const std::filesystem::path& folder, MemoryLedger* ledger, std::uint64_t memory_bytes)
      : bytes_(folder, ledger, memory_bytes) {}

  /// @param ids of the edges, where they are not their places in the spool: for all or for none of
  /// them
  void append(std::span<const std::uint64_t> sources,
              std::span<const std::uint64_t> targets,
              std::span<const std::uint64_t> ids = {});

  std::uint64_t size() const noexcept { return edges_; }
  bool has_ids() const noexcept { return has_ids_; }
  /// Bytes that went to disk.
  std::uint64_t spilled() const noexcept { return bytes_.spilled(); }

 private:
  friend class SpooledEdges;
  struct Head {
    std::uint32_t count;
    std::uint32_t width;  // bytes of a node id
  };
  template <class Id>
  void append_ids(std::span<const std::uint64_t> nodes);

  ScratchBytes bytes_;
  std::uint64_t edges_ = 0;
  bool has_ids_ = false;
  std::vector<std::uint32_t> narrow_;
};

/// A spool as a stream, from its beginning; the spool outlives it.
class SpooledEdges final : public EdgeStream {
 public:
  enum class Way { kForward, kReverse };

  /// @param id_bound above the ids of a spool that has some
  SpooledEdges(const EdgeSpool& spool, std::uint64_t id_bound, Way way = Way::kForward)
      : spool_(spool), id_bound_(id_bound), way_(way) {}

  std::optional<EdgeView> next() override { return next_at_most(spool_.edges_); }
  /// The next edges, no more than so many.
  std::optional<EdgeView> next_at_most(std::uint64_t most);
  void skip(std::uint64_t edges);
  std::optional<std::uint64_t> expected() const override { return spool_.edges_; }
  std::optional<std::uint64_t> id_bound() const override {
    return spool_.has_ids_ ? std::optional(id_bound_) : std::nullopt;
  }

 private:
  void read_chunk();
  template <class Id>
  void read(EdgeChunk<Id>& chunk);
  template <class Id>
  EdgeView slice(const EdgeChunk<Id>& chunk, std::size_t count) const;

  const EdgeSpool& spool_;
  std::uint64_t id_bound_;
  Way way_;
  std::uint64_t at_ = 0;    // byte of the spool
  EdgeSpool::Head head_{};  // of the chunk that was read
  std::size_t given_ = 0;   // edges of it
  EdgeChunk<std::uint32_t> narrow_;
  EdgeChunk<std::uint64_t> wide_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace sluice
