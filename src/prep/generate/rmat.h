// R-MAT (Chakrabarti, Zhan, Faloutsos 2004): power-law graphs by recursive quadrants, ids
// scrambled.
#pragma once

#include "prep/generate/generator.h"
#include "prep/generate/synthetic_nodes.h"

#include <sluice/random.h>

#include <cstdint>
#include <utility>

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

/// The edges of an R-MAT graph, each a pure function of its number. Thread-safe.
class RmatDraw {
 public:
  explicit RmatDraw(const RmatGenerator::Options& options);

  std::uint64_t edges() const noexcept { return edges_; }

  std::pair<std::uint64_t, std::uint64_t> operator()(std::uint64_t edge) const {
    const RandomKey one = key_.with(edge);
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    std::uint64_t bits = 0;
    for (int level = 0; level < scale_; ++level) {
      // Two levels a draw: 32 bits each.
      bits = level % 2 == 0 ? one.draw(static_cast<std::uint64_t>(level) / 2) : bits >> 32;
      const std::uint64_t u = bits & 0xffffffffu;
      source = source << 1 | (u >= below_b_ ? 1u : 0u);
      target = target << 1 | ((u >= below_a_ && u < below_b_) || u >= below_c_ ? 1u : 0u);
    }
    return {scramble_.forward(source), scramble_.forward(target)};
  }

 private:
  int scale_;
  std::uint64_t edges_;
  Scramble scramble_;
  RandomKey key_;
  std::uint64_t below_a_ = 0, below_b_ = 0, below_c_ = 0;
};

}  // namespace sluice
