// Feed: a loader by itself, opened within a budget: dataset, data, queries and memory from one flat
// table of options. What the Python package stands on.
//
//   auto feed = Feed::open("data/papers", options, {});
//   feed->loader().start({.epoch = 0});
//   while (auto batch = feed->loader().next()) ...
//
// Feeds made beside() one another go over the same data within one budget; one of them is in an
// epoch at a time. Used by one thread at a time. Throws Error.
#pragma once

#include "budget/placements.h"
#include "feed/feed_options.h"
#include "feed/feed_queries.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>
#include <sluice/memory.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

class Feed {
 public:
  /// Opens the data where the budget has room for it, samples a few mini-batches and splits the
  /// budget. Throws kResource with the table and the least budget that works where it does not fit.
  /// @param options its registry must outlive the feed
  static std::unique_ptr<Feed> open(const std::string& path,
                                    const FeedOptions& options,
                                    const FeedLists& lists);

  /// Another one over the same data, within the same budget, which is split anew: those that are
  /// there heed it from their next epoch on. Throws kUsage for options that ask for other data.
  std::unique_ptr<Feed> beside(const FeedOptions& options, const FeedLists& lists);
  ~Feed();

  std::uint64_t num_batches() const;
  /// Of an epoch's begin: as Loader::start.
  void start(const LoaderStart& where);
  /// The one to take mini-batches of. Another one may be there after start().
  Loader& loader() { return *loader_; }

  const FeedOptions& options() const { return options_; }
  const Dataset& dataset() const;
  /// Lives as long as whatever is charged to it needs.
  std::shared_ptr<MemoryLedger> ledger() const;
  /// Where data is kept and how the budget is split, for people.
  std::string describe() const;
  Places places() const;
  std::string engine() const;
  /// What nobody would expect of data and split, a line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Shared;
  Feed(std::shared_ptr<Shared> shared, const FeedOptions& options, const FeedLists& lists);
  static std::unique_ptr<Feed> attempt(const std::string& path,
                                       const FeedOptions& options,
                                       const FeedLists& lists,
                                       const PlaceChoice& choice,
                                       std::uint64_t budget,
                                       std::uint64_t limit);
  [[noreturn]] static void refuse(const std::string& path,
                                  const FeedOptions& options,
                                  const FeedLists& lists,
                                  const std::vector<PlaceChoice>& choices,
                                  std::uint64_t budget);

  void make_loader(const LoaderMemory& memory);
  void measure();

  std::shared_ptr<Shared> shared_;
  FeedOptions options_;
  std::shared_ptr<const SamplerMethod> sampler_;
  std::shared_ptr<const QuerySource> queries_;
  std::unique_ptr<Loader> loader_;
  std::uint64_t split_ = 0;  // Shared::splits when loader_ was made
  std::vector<std::string> warnings_;
};

}  // namespace sluice
