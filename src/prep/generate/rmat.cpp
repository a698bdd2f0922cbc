#include "prep/generate/rmat.h"

#include "prep/generate/drawn_edges.h"

#include <cmath>

namespace sluice {
namespace {

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
constexpr std::uint64_t kOffset = 0xd1342543de82ef95ull;  // so that the hub, 0, goes somewhere else

// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the correct
// low bits.
constexpr std::uint64_t inverse_odd(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

static_assert(kMultiplier * inverse_odd(kMultiplier) == 1);

}  // namespace

Scramble::Scramble(int bits)
    : shift_((bits + 1) / 2),
      mask_(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) {}

std::uint64_t Scramble::forward(std::uint64_t value) const {
  for (int round = 0; round < 2; ++round) {
    value = (value * kMultiplier + kOffset) & mask_;
    value ^= value >> shift_;
  }
  return value;
}

std::uint64_t Scramble::backward(std::uint64_t value) const {
  for (int round = 0; round < 2; ++round) {
    value ^= value >> shift_;  // its own inverse, as the shift is at least half the bits
    value = ((value - kOffset) * inverse_odd(kMultiplier)) & mask_;
  }
  return value;
}

void RmatGenerator::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("the same seed and options give the same dataset");
  schema.field("scale", scale).help("2^scale nodes").range(1, 40);
  schema.field("edge_factor", edge_factor).help("edges a node, on average").range(0, 1e6);
  schema.field("a", a).help("chance of the quadrant of low sources and low targets").range(0, 1);
  schema.field("b", b).help("chance of the quadrant of low sources and high targets").range(0, 1);
  schema.field("c", c).help("chance of the quadrant of high sources and low targets").range(0, 1);
  schema.field("undirected", undirected).help("store each edge both ways");
  node_options.describe(schema);
}

RmatGenerator::RmatGenerator(const Options& options) : options_(options) {
  if (options.a + options.b + options.c >= 1) {
    throw Error(ErrorCode::kUsage,
                "rmat: a + b + c must be below 1; the rest is the fourth quadrant's chance",
                "the usual values are 0.57, 0.19 and 0.19");
  }
}

RmatDraw::RmatDraw(const RmatGenerator::Options& options)
    : scale_(static_cast<int>(options.scale)),
      edges_(static_cast<std::uint64_t>(
          std::llround(options.edge_factor * std::ldexp(1.0, static_cast<int>(options.scale))))),
      scramble_(scale_),
      key_(RandomKey(static_cast<std::uint64_t>(options.seed)).with("rmat").with("edges")) {
  const auto threshold = [](double chance) {
    return static_cast<std::uint64_t>(std::llround(chance * 0x1.0p32));
  };
  below_a_ = threshold(options.a);
  below_b_ = threshold(options.a + options.b);
  below_c_ = threshold(options.a + options.b + options.c);
}

void RmatGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  const RandomKey key = RandomKey(static_cast<std::uint64_t>(options_.seed)).with("rmat");
  const auto scale = static_cast<int>(options_.scale);
  const std::uint64_t nodes = std::uint64_t{1} << scale;
  const Scramble scramble(scale);
  // The class is the top bits of the unscrambled id: nodes that share them fall into the same
  // quadrants, and so are joined more often than chance (a + d a bit).
  const auto classes = std::min(static_cast<std::uint64_t>(options_.node_options.classes), nodes);
  write_synthetic_nodes(
      writer,
      "node",
      nodes,
      options_.node_options,
      [=](std::uint64_t node) {
        const auto wide = static_cast<unsigned __int128>(scramble.backward(node)) * classes;
        return static_cast<std::uint32_t>(wide >> scale);
      },
      key,
      context);

  const RmatDraw draw(options_);
  RelationSchema relation{.source = "node", .name = "edge", .target = "node"};
  CscOptions csc;
  csc.undirected = options_.undirected;
  write_drawn_edges(writer, relation, draw.edges(), draw, csc, context);
}

}  // namespace sluice
