// A temporal interaction graph: events in time order between nodes of a skewed activity, many of
// which repeat an event of the recent past. Stored as CSC whose in-edges ascend in (time, edge id).
#pragma once

#include "prep/generate/generator.h"
#include "prep/generate/synthetic_nodes.h"

#include <sluice/random.h>

#include <cstdint>
#include <utility>

namespace sluice {

class TemporalGenerator final : public Generator {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t nodes = 10'000;
    std::int64_t events = 500'000;
    std::int64_t start = 1'600'000'000;
    std::int64_t seconds = 10'000'000;
    double repeat = 0.5;
    SyntheticNodeOptions node_options;

    void describe(Schema& schema);
  };

  explicit TemporalGenerator(const Options& options) : options_(options) {}
  void generate(DatasetWriter& writer, PrepContext& context) override;

 private:
  Options options_;
};

/// The events, each a pure function of its number. Thread-safe.
class TemporalDraw {
 public:
  explicit TemporalDraw(const TemporalGenerator::Options& options);
  std::pair<std::uint64_t, std::uint64_t> operator()(std::uint64_t event) const;
  /// Seconds; ascends with the event's number, with ties where events outnumber seconds.
  std::int64_t time(std::uint64_t event) const;

 private:
  TemporalGenerator::Options options_;
  RandomKey key_;
};

}  // namespace sluice
