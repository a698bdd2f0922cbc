// A knowledge graph that an embedding can learn: entities in clusters, and relations that lead from
// a cluster to the one so many further on, with noise. Few entities have many edges.
#pragma once

#include "prep/generate/generator.h"

#include <sluice/options.h>

namespace sluice {

class KgGenerator final : public Generator {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t entities = 100'000;
    std::int64_t relations = 16;
    std::int64_t edges = 1'000'000;
    std::int64_t clusters = 64;
    double noise = 0.1;

    void describe(Schema& schema);
  };

  explicit KgGenerator(const Options& options) : options_(options) {}
  void generate(DatasetWriter& writer, PrepContext& context) override;

 private:
  Options options_;
};

}  // namespace sluice
