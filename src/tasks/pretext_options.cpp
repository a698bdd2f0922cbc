#include "tasks/pretext_options.h"

namespace sluice::tasks {
namespace {

constexpr double kMostWeight = 1e6;

Field& weight_field(Schema& schema, double& weight) {
  return schema.field("weight", weight)
      .help("of this part in the loss; at 0 nothing of it is computed")
      .range(0, kMostWeight);
}

}  // namespace

void MaskedOptions::describe(Schema& schema) {
  weight_field(schema, weight);
  schema.field("rate", rate).help("share of nodes whose features are masked").range(0, 1);
  schema.field("replace", replace)
      .help("share of the masked nodes that get another node's features, not the learned row")
      .range(0, 1);
  schema.field("gamma", gamma).help("power of 1 - cosine, of what is made again").range(1, 100);
  schema.field("edge_drop", edge_drop)
      .help("share of edges that the masked view lacks; the decoder sees all")
      .range(0, 0.999);
  schema
      .choice("decoder",
              decoder,
              {{"gat", DecoderLayer::kGat, "a layer of attention: one more layer of the sampler"},
               {"gcn", DecoderLayer::kGcn, "a layer of means: one more layer of the sampler"},
               {"mlp", DecoderLayer::kMlp, "a network over each node's own embedding"}})
      .help("what makes features of embeddings");
  schema
      .choice("remask",
              remask,
              {{"none", Remask::kNone, "no embedding is hidden"},
               {"masked", Remask::kMasked, "those of masked nodes are 0 (GraphMAE)"},
               {"random",
                Remask::kRandom,
                "a random share is a learned row, anew for each of remask_views (GraphMAE2)"}})
      .help("which embeddings are hidden from the decoder; none are from decoder \"mlp\"");
  schema.field("remask_rate", remask_rate)
      .help("share of nodes that remask = \"random\" hides")
      .range(0, 1);
  schema.field("remask_views", remask_views)
      .help("how often remask = \"random\" decodes; the losses are summed")
      .range(1, 64);
}

void ContrastOptions::describe(Schema& schema) {
  weight_field(schema, weight);
  schema.field("temperature", temperature).help("that cosines are divided by").range(1e-3, 1e3);
  schema
      .choice("drop",
              drop,
              {{"nodes", ViewDrop::kNodes, "all edges of a share of nodes (GCMAE)"},
               {"edges", ViewDrop::kEdges, "a share of edges"}})
      .help("what the second view lacks; its features are whole");
  schema.field("drop_rate", drop_rate).help("that share").range(0, 0.999);
  schema.field("hidden", hidden).help("columns of both projections").range(1, 1 << 16);
  schema.field("nodes", nodes)
      .help("seeds that are compared with each other, at the most; drawn where there are more")
      .range(2, 1 << 16);
}

void AdjacencyOptions::describe(Schema& schema) {
  weight_field(schema, weight);
  schema.field("square", square)
      .help("weight of the squared error beside the cross-entropy's 1")
      .range(0, kMostWeight);
  schema.field("distance", distance)
      .help("weight of the log ratio of mean scores, of pairs without a link over those with one")
      .range(0, kMostWeight);
  schema.field("nodes", nodes)
      .help("seeds whose pairs are all scored, at the most; drawn where there are more")
      .range(2, 1 << 16);
}

void VarianceOptions::describe(Schema& schema) {
  weight_field(schema, weight);
}

void LatentOptions::describe(Schema& schema) {
  weight_field(schema, weight);
  schema.field("edge_drop", edge_drop)
      .help("share of edges that the target's view lacks")
      .range(0, 0.999);
  schema.field("hidden", hidden).help("columns within the projection").range(1, 1 << 16);
}

void ViewsOptions::describe(Schema& schema) {
  schema.field("first_edges", first_edges)
      .help("share of edges that the first view lacks")
      .range(0, 0.999);
  schema.field("second_edges", second_edges)
      .help("share of edges that the second view lacks")
      .range(0, 0.999);
  schema.field("first_columns", first_columns)
      .help("share of feature columns that are 0 in the first view")
      .range(0, 0.999);
  schema.field("second_columns", second_columns)
      .help("share of feature columns that are 0 in the second view")
      .range(0, 0.999);
  schema.field("hidden", hidden).help("columns within the predictor").range(1, 1 << 16);
}

void MomentumOptions::describe(Schema& schema) {
  schema.field("start", start)
      .help("what a step leaves of the target's weights; the rest is the encoder's")
      .range(0, 1);
  schema.field("epochs", epochs)
      .help("after so many epochs it is 1, on a cosine; 0: it stays as it is")
      .range(0, 1e9);
  schema.field("from_epoch", from_epoch)
      .help("the target stays as it begins until this epoch, counted from 0")
      .range(0, 1e9);
}

}  // namespace sluice::tasks
