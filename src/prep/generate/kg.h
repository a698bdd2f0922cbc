// A knowledge graph that an embedding can learn: entities in clusters, and relations that lead from
// each cluster to another, with noise. Few entities and few relations have most of the triples.
#pragma once

#include "prep/generate/generator.h"

#include <sluice/options.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

class KgGenerator final : public Generator {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t entities = 100'000;
    std::int64_t relations = 16;
    std::int64_t edges = 1'000'000;
    std::int64_t clusters = 1'000;
    std::int64_t skew = 2;
    double noise = 0.1;
    double valid = 0.01;
    double test = 0.01;

    void describe(Schema& schema);
  };

  explicit KgGenerator(const Options& options) : options_(options) {}
  void generate(DatasetWriter& writer, PrepContext& context) override;

 private:
  Options options_;
};

/// The triples, each a pure function of its number. Thread-safe.
class KgDraw {
 public:
  explicit KgDraw(const KgGenerator::Options& options);

  struct Triple {
    std::uint64_t head, tail;
    std::uint32_t relation;
  };
  Triple operator()(std::uint64_t number) const;

  /// 0: train, 1: valid, 2: test. Of the triple, not of its number: one that is drawn again is in
  /// the same part.
  std::size_t part(const Triple& triple) const;

  std::uint64_t clusters() const { return clusters_; }
  std::uint64_t cluster(std::uint64_t entity) const { return rank(entity) % clusters_; }
  /// How many entities have more triples, but for chance: ranks are scattered over the entities.
  std::uint64_t rank(std::uint64_t entity) const;
  /// But for noise a relation leads from a cluster to the one so many further on.
  std::uint64_t step(std::uint32_t relation) const;

 private:
  std::uint64_t entity(std::uint64_t rank) const;
  std::uint64_t skewed(std::uint64_t count, double uniform) const;
  std::uint32_t relation(double uniform) const;

  KgGenerator::Options options_;
  RandomKey key_;
  std::uint64_t entities_, clusters_;
  std::uint64_t factor_, inverse_;  // entity = rank * factor modulo entities
  std::vector<double> upto_;        // share of the triples in relations up to each
};

}  // namespace sluice
