// R-MAT (Chakrabarti, Zhan, Faloutsos 2004): power-law graphs by recursive quadrants, ids
// scrambled.
#pragma once

#include "prep/csc_builder.h"
#include "prep/generate/generator.h"
#include "prep/generate/synthetic_nodes.h"

namespace sluice {

class RmatGenerator final : public Generator {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t scale = 16;
    double edge_factor = 16;
    double a = 0.57;
    double b = 0.19;
    double c = 0.19;
    bool undirected = false;
    SyntheticNodeOptions node_options;

    void describe(Schema& schema);
  };

  /// Throws kUsage when a + b + c is not below 1.
  explicit RmatGenerator(const Options& options);
  void generate(DatasetWriter& writer, PrepContext& context) override;

 private:
  Options options_;
};

/// A bijection of [0, 2^bits), so that hubs do not sit at the low ids. Two rounds of multiply and
/// xor-shift.
class Scramble {
 public:
  explicit Scramble(int bits);
  std::uint64_t forward(std::uint64_t value) const;
  std::uint64_t backward(std::uint64_t value) const;

 private:
  int shift_;
  std::uint64_t mask_;
};

}  // namespace sluice
