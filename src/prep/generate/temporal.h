// A temporal interaction graph: events in time order between nodes of a skewed activity (or one
// node after the other, so that most nodes have events in any long enough stretch of time), many of
// which repeat an event of the recent past (planted recurrence), others within classes that nodes
// change (planted drift). Stored as CSC whose in-edges ascend in (time, edge id). Events may have
// features; what class nodes were of when may be written as events of a second relation.
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
    double in_turn = 0;
    double homophily = 0;
    double drift = 0;
    std::int64_t edge_features = 0;
    std::int64_t label_events = 0;
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
  std::int64_t time(std::uint64_t event) const { return time_of(event, num_events()); }
  /// Of event `number` of `count` that are spread over the same time. @pre number < count
  std::int64_t time_of(std::uint64_t number, std::uint64_t count) const;
  /// The class of a node when `number` of `count` such events were. At first it is the node's
  /// number modulo the classes.
  std::uint32_t class_at(std::uint64_t node, std::uint64_t number, std::uint64_t count) const;

  std::uint64_t num_events() const { return static_cast<std::uint64_t>(options_.events); }
  std::uint64_t num_classes() const { return classes_; }

 private:
  // Which end of an event.
  enum class End { kSource, kTarget };

  std::uint64_t skewed(RandomKey one, std::uint64_t counter) const;
  std::uint64_t in_turn(std::uint64_t event, End end) const;
  std::uint64_t end_of(std::uint64_t event, End end, RandomKey one) const;
  std::uint64_t target_of(std::uint64_t source, std::uint64_t event, RandomKey one) const;

  TemporalGenerator::Options options_;
  RandomKey key_;
  std::uint64_t classes_;
};

/// What class a node was of when: events from a node to itself, evenly spread. Thread-safe.
class LabelDraw {
 public:
  explicit LabelDraw(const TemporalGenerator::Options& options);
  std::pair<std::uint64_t, std::uint64_t> operator()(std::uint64_t number) const;
  std::int64_t time(std::uint64_t number) const { return draw_.time_of(number, count_); }
  std::uint32_t label(std::uint64_t number) const {
    return draw_.class_at((*this)(number).first, number, count_);
  }

 private:
  TemporalDraw draw_;
  std::uint64_t nodes_;
  std::uint64_t count_;
  RandomKey key_;
};

}  // namespace sluice
