#include "prep/generate/kg.h"

#include "core/interrupt.h"
#include "core/progress.h"
#include "prep/csc_builder.h"
#include "prep/edge_stream.h"
#include "prep/generate/skewed_draw.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kKgSplit = "default";

std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b % modulus);
}

/// b with a * b = 1 modulo `modulus`. @pre a has no factor in common with it
std::uint64_t inverse_of(std::uint64_t a, std::uint64_t modulus) {
  std::int64_t before = 0, now = 1;
  std::uint64_t rest_before = modulus, rest = a % modulus;
  while (rest > 1) {
    const auto times = static_cast<std::int64_t>(rest_before / rest);
    before = std::exchange(now, before - times * now);
    rest_before = std::exchange(rest, rest_before % rest);
  }
  return static_cast<std::uint64_t>(now < 0 ? now + static_cast<std::int64_t>(modulus) : now);
}

/// The files beside the training edges: their relations, and the triples of valid and test.
struct KgFiles {
  std::unique_ptr<DataFileWriter> labels, valid, test;
  std::uint64_t num_valid = 0, num_test = 0;
};

/// The training triples as edges. Drained once: what else a triple makes goes to its file
/// meanwhile.
template <class Id>
class TrainingTriples final : public EdgeStream {
 public:
  TrainingTriples(std::uint64_t count, const KgDraw& draw, KgFiles& files, PrepContext& context)
      : count_(count),
        draw_(draw),
        files_(files),
        context_(context),
        charge_(context.ledger.charge("generator", kChunk * kBytes).or_throw()),
        progress_(context.progress, "triples", count, "triples") {
    triples_.resize(kChunk);
    parts_.resize(kChunk);
  }

  std::optional<EdgeView> next() override {
    while (done_ != count_) {
      throw_if_interrupted();
      const std::uint64_t size = std::min(kChunk, count_ - done_);
      draw_chunk(size);
      share_out(size);
      done_ += size;
      progress_.add(size);
      if (chunk_.size() != 0) return chunk_.view();
    }
    return std::nullopt;
  }

  /// Those of valid and test among them, which never come.
  std::optional<std::uint64_t> expected() const override { return count_; }

 private:
  static constexpr std::uint64_t kChunk = std::uint64_t{1} << 17;
  static constexpr std::uint64_t kBytes =
      sizeof(KgDraw::Triple) + sizeof(std::uint8_t) + 2 * sizeof(Id) + sizeof(std::int32_t);

  void draw_chunk(std::uint64_t size) {
    constexpr std::size_t kGrain = 1 << 13;
    context_.arena.for_ranges(size, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        triples_[i] = draw_(done_ + i);
        parts_[i] = static_cast<std::uint8_t>(draw_.part(triples_[i]));
      }
    });
  }

  void share_out(std::uint64_t size) {
    chunk_.resize(0);
    labels_.clear();
    for (std::size_t i = 0; i < size; ++i) {
      const KgDraw::Triple& triple = triples_[i];
      if (parts_[i] == 0) {
        chunk_.source.push_back(static_cast<Id>(triple.head));
        chunk_.target.push_back(static_cast<Id>(triple.tail));
        labels_.push_back(static_cast<std::int32_t>(triple.relation));
        continue;
      }
      const EdgeSplit::Row row{0, triple.relation, triple.head, triple.tail, 1};
      (parts_[i] == 1 ? files_.valid : files_.test)
          ->append_values(std::span<const EdgeSplit::Row>(&row, 1));
      ++(parts_[i] == 1 ? files_.num_valid : files_.num_test);
    }
    files_.labels->append_values(std::span<const std::int32_t>(labels_));
  }

  std::uint64_t count_;
  const KgDraw& draw_;
  KgFiles& files_;
  PrepContext& context_;
  Charge charge_;
  Progress progress_;
  std::vector<KgDraw::Triple> triples_;
  std::vector<std::uint8_t> parts_;
  EdgeChunk<Id> chunk_;
  std::vector<std::int32_t> labels_;
  std::uint64_t done_ = 0;
};

}  // namespace

void KgGenerator::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("the same seed and options give the same dataset");
  schema.field("entities", entities).help("number of entities").range(1, 1e12);
  schema.field("relations", relations)
      .help(
          "number of relations, r0, r1, ...: labels of the edges; their sizes fall as 1, 1/2, 1/3")
      .range(1, 1e5);
  schema.field("edges", edges)
      .help("triples drawn, over all relations and parts; one may be drawn again")
      .range(0, 1e13);
  schema.field("clusters", clusters)
      .help("clusters of entities; each relation leads from a cluster to one other")
      .range(1, 1e9);
  schema.field("skew", skew)
      .help(
          "how few entities have most triples: the share of the k-th falls as k to the power "
          "1 / skew - 1; 1: all alike")
      .range(1, 8);
  schema.field("noise", noise).help("share of triples whose tail is any entity").range(0, 1);
  schema.field("valid", valid).help("share of the triples to validate on").range(0, 1);
  schema.field("test", test).help("share of the triples to test on").range(0, 1);
}

KgDraw::KgDraw(const KgGenerator::Options& options)
    : options_(options),
      key_(RandomKey(static_cast<std::uint64_t>(options.seed)).with("kg")),
      entities_(static_cast<std::uint64_t>(options.entities)),
      clusters_(std::min(static_cast<std::uint64_t>(options.clusters), entities_)),
      factor_(1 + key_.with("scatter").below(entities_, 0)) {
  while (std::gcd(factor_, entities_) != 1) ++factor_;
  inverse_ = inverse_of(factor_, entities_);
  double sum = 0;
  for (std::int64_t r = 1; r <= options.relations; ++r)
    upto_.push_back(sum += 1 / static_cast<double>(r));
  for (double& share : upto_) share /= sum;
}

std::uint64_t KgDraw::entity(std::uint64_t rank) const {
  return product(rank, factor_, entities_);
}

std::uint64_t KgDraw::rank(std::uint64_t entity) const {
  return product(entity, inverse_, entities_);
}

std::uint64_t KgDraw::step(std::uint32_t relation) const {
  return key_.with("relation").below(clusters_, relation);
}

std::uint64_t KgDraw::skewed(std::uint64_t count, double uniform) const {
  return skewed_below(count, options_.skew, uniform);
}

std::uint32_t KgDraw::relation(double uniform) const {
  const auto found = std::upper_bound(upto_.begin(), upto_.end() - 1, uniform);
  return static_cast<std::uint32_t>(found - upto_.begin());
}

KgDraw::Triple KgDraw::operator()(std::uint64_t number) const {
  const RandomKey one = key_.with(number);
  const std::uint64_t head = skewed(entities_, one.uniform(0));
  const std::uint32_t which = relation(one.uniform(1));
  if (one.uniform(2) < options_.noise)
    return {entity(head), entity(skewed(entities_, one.uniform(3))), which};
  const std::uint64_t cluster = (head % clusters_ + step(which)) % clusters_;
  const std::uint64_t members = (entities_ - cluster + clusters_ - 1) / clusters_;
  return {entity(head), entity(cluster + clusters_ * skewed(members, one.uniform(3))), which};
}

std::size_t KgDraw::part(const Triple& triple) const {
  const double u = key_.with("part").with(triple.head).with(triple.tail).uniform(triple.relation);
  if (u < options_.test) return 2;
  return u < options_.test + options_.valid ? 1 : 0;
}

void KgGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  if (options_.valid + options_.test >= 1)
    throw Error(ErrorCode::kUsage,
                "valid and test leave no triples to train on",
                "lower one of them: their shares must sum to less than 1");
  const KgDraw draw(options_);
  const auto entities = static_cast<std::uint64_t>(options_.entities);
  const auto edges = static_cast<std::uint64_t>(options_.edges);
  NodeTypeSchema node;
  node.name = "entity";
  node.count = entities;
  writer.schema().nodes.push_back(node);
  writer.stage("triples", [&] {
    RelationSchema relation{.source = "entity", .name = "triple", .target = "entity"};
    KgFiles files{writer.create(relation_path(relation, "labels.bin")),
                  writer.create(split_path(kKgSplit, "valid")),
                  writer.create(split_path(kKgSplit, "test"))};
    CscOptions csc;
    csc.edge_ids = true;
    const auto build = [&](EdgeStream&& triples) {
      build_csc(
          writer, relation, entities, entities, triples, csc, context.arena, context.progress);
    };
    if (node_id_dtype(entities) == DType::kU32) {
      build(TrainingTriples<std::uint32_t>(edges, draw, files, context));
    } else {
      build(TrainingTriples<std::uint64_t>(edges, draw, files, context));
    }
    LabelSchema labels{LabelKind::kClass, static_cast<std::uint32_t>(options_.relations)};
    for (std::int64_t r = 0; r < options_.relations; ++r)
      labels.names.push_back(fmt::format("r{}", r));
    relation.labels = std::move(labels);
    writer.add(std::move(files.labels));
    // The training triples are all edges of the relation.
    writer.add(writer.create(split_path(kKgSplit, "train")));
    writer.add(std::move(files.valid));
    writer.add(std::move(files.test));
    writer.schema().relations.push_back(std::move(relation));
    writer.schema().edge_splits.push_back({kKgSplit, {}, 0, files.num_valid, files.num_test});
  });
}

}  // namespace sluice
