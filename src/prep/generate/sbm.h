// Stochastic block model: nodes of a class prefer each other. Classes are interleaved over the ids,
// so that neither features nor topology lie together by accident.
#pragma once

#include "prep/generate/generator.h"
#include "prep/generate/synthetic_nodes.h"

namespace sluice {

class SbmGenerator final : public Generator {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t nodes = 100'000;
    std::int64_t edges = 1'000'000;
    double homophily = 0.8;
    bool undirected = false;
    SyntheticNodeOptions node_options;

    void describe(Schema& schema);
  };

  explicit SbmGenerator(const Options& options) : options_(options) {}
  void generate(DatasetWriter& writer, PrepContext& context) override;

 private:
  Options options_;
};

}  // namespace sluice
