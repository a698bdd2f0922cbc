// A heterogeneous graph in the manner of citation data: papers, authors and institutions, with
// relations cites, writes and works_at. Classes run through all types, so that labels of papers can
// be learned from any of them. Or, with a number of relations, planted_relations.h.
#pragma once

#include "prep/generate/generator.h"
#include "prep/generate/planted_relations.h"
#include "prep/generate/synthetic_nodes.h"

namespace sluice {

class HeteroGenerator final : public Generator {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t papers = 100'000;
    std::int64_t authors = 50'000;
    std::int64_t institutions = 1'000;
    std::int64_t cites = 1'000'000;
    std::int64_t writes = 300'000;
    std::int64_t works_at = 60'000;
    std::int64_t author_features = 32;
    double homophily = 0.7;
    PlantedRelationOptions planted;
    SyntheticNodeOptions node_options;  ///< of papers

    void describe(Schema& schema);
  };

  explicit HeteroGenerator(const Options& options) : options_(options) {}
  void generate(DatasetWriter& writer, PrepContext& context) override;

 private:
  Options options_;
};

}  // namespace sluice
