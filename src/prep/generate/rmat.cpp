#include "prep/generate/rmat.h"

#include "prep/generate/drawn_edges.h"

#include <bit>
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

  // Two levels a draw: 32 bits each.
  const auto threshold = [](double chance) {
    return static_cast<std::uint64_t>(std::llround(chance * 0x1.0p32));
  };
  const std::uint64_t below_a = threshold(options_.a);
  const std::uint64_t below_b = threshold(options_.a + options_.b);
  const std::uint64_t below_c = threshold(options_.a + options_.b + options_.c);
  const RandomKey edge_key = key.with("edges");
  const auto draw = [=](std::uint64_t edge) -> std::pair<std::uint64_t, std::uint64_t> {
    const RandomKey one = edge_key.with(edge);
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    std::uint64_t bits = 0;
    for (int level = 0; level < scale; ++level) {
      bits = level % 2 == 0 ? one.draw(static_cast<std::uint64_t>(level) / 2) : bits >> 32;
      const std::uint64_t u = bits & 0xffffffffu;
      source = source << 1 | (u >= below_b ? 1u : 0u);
      target = target << 1 | ((u >= below_a && u < below_b) || u >= below_c ? 1u : 0u);
    }
    return {scramble.forward(source), scramble.forward(target)};
  };
  const auto count =
      static_cast<std::uint64_t>(std::llround(options_.edge_factor * static_cast<double>(nodes)));
  DrawnEdges edges(count, draw, context);
  RelationSchema relation{.source = "node", .name = "edge", .target = "node"};
  CscOptions csc;
  csc.undirected = options_.undirected;
  build_csc(writer, relation, nodes, nodes, edges, csc, context.arena);
  writer.schema().relations.push_back(relation);
}

}  // namespace sluice
