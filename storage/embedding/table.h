// The body of EmbeddingTable: resident rows over a GroupStore, and the JobQueue between them.
#pragma once

#include "storage/embedding/coalesce.h"
#include "storage/embedding/group_sweep.h"
#include "storage/embedding/job_queue.h"
#include "storage/embedding/partition_buffer.h"
#include "storage/embedding/window_cache.h"

#include <sluice/embedding_table.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// create_embedding_table() and open_embedding_table() with an engine of the caller's: for tests.
std::unique_ptr<EmbeddingTable> create_embedding_table(const EmbeddingTableOptions& options,
                                                       EngineMaker make_engine);
std::unique_ptr<EmbeddingTable> open_embedding_table(const EmbeddingTableOptions& options,
                                                     std::uint64_t generation,
                                                     EngineMaker make_engine);

/// Memory that a table keeps for the largest mini-batch: ids, pointers, sums of gradients.
constexpr std::uint64_t bytes_of_batch(std::uint64_t ids, std::uint32_t dim) {
  return ids * (CoalescedIds::kBytesOfId + sizeof(float) * std::uint64_t{dim} + 2 * sizeof(float*));
}
/// Memory that read_rows() takes for a row meanwhile.
inline constexpr std::uint64_t kBytesOfReadRow =
    sizeof(std::pair<std::uint64_t, std::size_t>) + sizeof(RowMove);

class StoredEmbeddingTable final : public EmbeddingTable {
 public:
  /// @param opened the generation to go on from, or null
  StoredEmbeddingTable(const EmbeddingTableOptions& options,
                       EngineMaker make_engine,
                       const TableManifest* opened);

  std::uint64_t rows() const override { return store_.layout().rows; }
  std::uint32_t dim() const override { return store_.layout().dim; }
  std::uint32_t state_width() const override { return store_.layout().state; }

  void expect(std::span<const std::uint64_t> ids) override;
  std::uint32_t partitions() const override;
  std::uint32_t partition_of(std::uint64_t row) const override;
  void load(std::uint32_t partition) override;
  void release(std::uint32_t partition) override;
  PartitionRows partition(std::uint32_t partition) override;
  void touch(std::uint32_t partition) override;

  void gather(std::span<const std::uint64_t> ids, std::span<float> out) override;
  void update(std::span<const std::uint64_t> ids,
              std::span<const float> gradients,
              double rate) override;
  void update_range(std::uint64_t first, std::span<const float> gradients, double rate) override;
  void read(std::uint64_t first, std::span<float> out) override;
  void read_rows(std::span<const std::uint64_t> ids, std::span<float> out) override;

  std::uint64_t commit() override;
  void keep(std::span<const std::uint64_t> generations) override;
  void grow(std::uint64_t rows) override;
  EmbeddingStats stats() override;

 private:
  WindowCache& windows() const;
  PartitionBuffer& buffer() const;
  void check_row(std::uint64_t row) const;
  void check_size(std::size_t rows, std::size_t floats) const;
  float* here(std::uint64_t row);
  void sweep(std::span<const RowMove> writes, std::span<const RowMove> reads, std::size_t lead);
  void read_partition(const PartitionRows& rows);
  void write_partition(const PartitionBuffer::Leaving& leaving);
  void write_dirty();
  void charge_at_least(Charge& charge, std::uint64_t bytes);
  Charge charge_now(std::uint64_t bytes);
  template <class Work>
  void on_disk(const Work& work);

  EmbeddingTableOptions options_;
  GroupStore store_;
  GroupSweep sweep_;
  std::unique_ptr<WindowCache> windows_;  // one of the two
  std::unique_ptr<PartitionBuffer> buffer_;
  ResidentRows* resident_;
  // The disk thread's, and its user's while it has nothing to do.
  std::uint64_t rows_read_ = 0, rows_written_ = 0;
  std::uint64_t updates_ = 0;
  CoalescedIds window_ids_, batch_ids_;
  std::vector<const std::byte*> from_;
  std::vector<float*> to_;
  std::vector<float> sums_;
  Charge window_charge_, batch_charge_;
  JobQueue jobs_;  // last: its thread uses the others
};

}  // namespace sluice
