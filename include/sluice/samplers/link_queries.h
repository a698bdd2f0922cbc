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
#include <sluice/samplers/link_order.h>
#include <sluice/samplers/links.h>
#include <sluice/samplers/negative_sampler.h>
#include <sluice/samplers/seed_order.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace sluice {

/// Nodes that several links of a mini-batch are set beside, at both ends.
struct SharedNegatives {
  std::int64_t count = 0;  ///< for each chunk; 0: none
  std::int64_t chunk = 0;  ///< links that share them; 0: all of a mini-batch
  /// Share of them that are ends of other links of the mini-batch, and so come by their degrees;
  /// the rest are any nodes alike.
  double of_batch = 0;
};

/// Other ends that stand beside links as they are listed, link by link, so that others rank by the
/// same. Immutable: any number of threads may read one.
class ListedEnds {
 public:
  virtual ~ListedEnds() = default;
  virtual std::uint64_t columns() const = 0;
  /// u64 [numbers, columns]: the ends beside links of these numbers; kNoNode where a link has
  /// fewer. @pre numbers below the links' size
  virtual Result<void> read(std::span<const std::uint64_t> numbers,
                            std::span<std::uint64_t> out) const = 0;
};

struct LinkQueryOptions {
  std::size_t relation = 0;  ///< index into GraphSchema::relations
  std::int64_t batch_size = 1024;
  Shuffle shuffle = Shuffle::kEveryEpoch;
  RandomKey key{1};  ///< of the run's seed
  /// Which links come when, and beside which nodes; null: all of them, by the two above, beside
  /// any.
  std::shared_ptr<const LinkOrder> order = nullptr;
  /// Draws the other destinations; null: there are none.
  std::shared_ptr<const NegativeSampler> negatives = nullptr;
  SharedNegatives shared = {};  ///< of links without times
  /// Destinations in the place of those that `negatives` draws; null: none are listed.
  std::shared_ptr<const ListedEnds> listed_destinations = nullptr;
  /// Sources, of links without times that share nothing: each link's own are its row of
  /// Queries::shared_sources, with a Queries::chunk of 1, whatever their type.
  std::shared_ptr<const ListedEnds> listed_sources = nullptr;
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
  /// Throws kUsage for a batch size below 1, for relations that the graph lacks, for links that are
  /// no events where seeds are to say which they belong to, and for listed ends beside what takes
  /// their place. @param schema must outlive this
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
  Result<void> draw_shared(Making& making) const;
  Result<void> read_listed(Making& making) const;
  Result<Array> draw_nodes(const Making& making, std::size_t type, std::int64_t chunks) const;
  Result<void> list_ends(Making& making) const;
  Result<void> list_excluded(Making& making) const;

  std::shared_ptr<const Links> links_;
  LinkQueryOptions options_;  // with an order
  std::size_t num_types_;
  std::uint64_t num_sources_;
  std::uint64_t num_destinations_;
  std::size_t source_type_;
  std::size_t destination_type_;
};

}  // namespace sluice
