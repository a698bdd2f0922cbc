// LinkQueries: queries of links of one relation, each once an epoch, with other destinations beside
// them.
//
// The negatives of a link are drawn by (key, epoch, link), whoever its mates are. An evaluation
// begins epoch 0 each time, so that it sees the same ones.
//
// Links with times are asked about at their times, with their negatives: a seed is a node at a
// time. A sampler that takes what was before sees neither the links asked about nor later ones, so
// nothing needs to be excluded.
#pragma once

#include <sluice/graph_schema.h>
#include <sluice/query.h>
#include <sluice/samplers/links.h>
#include <sluice/samplers/negative_sampler.h>
#include <sluice/samplers/seed_order.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace sluice {

struct LinkQueryOptions {
  std::size_t relation = 0;  ///< index into GraphSchema::relations
  std::int64_t batch_size = 1024;
  Shuffle shuffle = Shuffle::kEveryEpoch;
  RandomKey key{1};  ///< of the run's seed
  /// Draws the other destinations; null: there are none.
  std::shared_ptr<const NegativeSampler> negatives = nullptr;
  /// Whether the links asked about must not be among the blocks' edges, nor, where `reverse` says
  /// a relation that holds them the other way round (it may be `relation` itself), be there so.
  bool exclude = false;
  std::optional<std::size_t> reverse = std::nullopt;
  /// Whether seeds say which event they belong to (QueryBatch::seed_events): for samplers that need
  /// it, of links with times. Then a node is a seed for each event it is asked about with.
  bool events = false;
};

class LinkQueries final : public QuerySource {
 public:
  /// Throws kUsage for a batch size of 0. @param schema must outlive this
  LinkQueries(const GraphSchema& schema,
              std::shared_ptr<const Links> links,
              LinkQueryOptions options);

  std::uint64_t num_batches() const override;
  std::uint64_t num_queries() const override { return links_->size(); }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  struct Making;

  Result<void> find_links(Making& making) const;
  Result<void> draw_negatives(Making& making) const;
  Result<void> list_seeds(Making& making) const;
  Result<void> list_plain_seeds(Making& making) const;
  Result<void> list_timed_seeds(Making& making) const;
  Result<void> list_excluded(Making& making) const;

  std::shared_ptr<const Links> links_;
  LinkQueryOptions options_;
  std::size_t num_types_;
  std::size_t source_type_;
  std::size_t destination_type_;
};

}  // namespace sluice
