#include <sluice/train.h>

#include "models/bg_hgnn.h"
#include "models/dygformer.h"
#include "models/embedding.h"
#include "models/gat.h"
#include "models/gcn.h"
#include "models/gin.h"
#include "models/graphmixer.h"
#include "models/graphsage.h"
#include "models/hgt.h"
#include "models/jodie.h"
#include "models/mlp.h"
#include "models/rgcn.h"
#include "models/rphgnn.h"
#include "models/sehgnn.h"
#include "models/sign.h"
#include "models/simple_hgn.h"
#include "models/tf_tgn.h"
#include "models/tgat.h"
#include "models/tgn.h"
#include "models/tpnet.h"
#include "nn/optim/adagrad.h"
#include "nn/optim/adam.h"
#include "nn/optim/sgd.h"
#include "tasks/dynamic_node_classification.h"
#include "tasks/edge_classification.h"
#include "tasks/edgebank.h"
#include "tasks/link_prediction.h"
#include "tasks/node_classification.h"
#include "tasks/pair_network.h"
#include "tasks/past_labels.h"
#include "tasks/popularity.h"
#include "tasks/recency.h"
#include "tasks/regression.h"
#include "tasks/self_supervised.h"
#include "tasks/temporal_link_prediction.h"

namespace sluice {

ModelCatalog builtin_models() {
  ModelCatalog all("model");
  all.add<models::GraphSage>("graphsage", "own row and an aggregate of sampled neighbours");
  all.add<models::Gcn>("gcn", "average over neighbours weighted by degree");
  all.add<models::Gat>("gat", "neighbours weighted by attention");
  all.add<models::Gin>("gin", "sum over neighbours, then a small MLP");
  all.add<models::Rgcn>("rgcn", "own row and a mean a relation, each through a matrix of its own");
  all.add<models::SimpleHgn>("simple_hgn",
                             "attention that knows an edge's relation, over all nodes");
  all.add<models::Hgt>("hgt", "attention over all relations, with matrices by type and relation");
  all.add<models::BgHgnn>("bg_hgnn", "types and relations blended into one row a node, then GAT");
  all.add<models::Mlp>("mlp", "the node's own features alone: the baseline");
  all.add<models::Sign>("sign", "an MLP over each propagated feature table, side by side");
  all.add<models::SeHgnn>("sehgnn", "attention over feature tables propagated along metapaths");
  all.add<models::RpHgnn>("rphgnn", "rounds of random projections, mixed relation by relation");
  all.add<models::Embedding>("embedding", "a learned row a node: no features, no graph");
  all.add<models::TfTgn>("tf_tgn", "a Transformer decoder over a node's latest events");
  all.add<models::Tgat>("tgat", "attention over events of before, hop by hop back in time");
  all.add<models::GraphMixer>("graphmixer", "an MLP-Mixer over a node's latest events");
  all.add<models::DygFormer>("dygformer",
                             "a Transformer over both ends' latest events, in patches");
  all.add<models::Tgn>("tgn", "a memory a node, and attention over its events");
  all.add<models::Jodie>("jodie", "a memory a node, projected to the time asked about");
  all.add<models::TpNet>("tpnet", "both ends' latest events, and walks in time between them");
  all.add<tasks::EdgeBank>("edgebank", "whether a pair has met before: no parameters");
  all.add<tasks::Recency>("recency", "how lately a destination met somebody: no parameters");
  all.add<tasks::Popularity>("popularity", "how often a destination met anybody: no parameters");
  all.add<tasks::PairNetwork>("pair_network", "a small network over exact features of a pair");
  all.add<tasks::PastLabels>("past_labels", "the mean of a node's latest labels: no parameters");
  return all;
}

TaskCatalog builtin_tasks() {
  TaskCatalog all("task");
  all.add<tasks::NodeClassification>("node_classification",
                                     "one class a node, or many (multi-label)");
  all.add<tasks::Regression>("regression", "one or more numbers a node");
  all.add<tasks::LinkPrediction>("link_prediction", "whether two nodes are linked");
  all.add<tasks::EdgeClassification>("edge_classification", "one class an edge");
  all.add<tasks::TemporalLinkPrediction>("temporal_link_prediction",
                                         "whether two nodes meet at a time");
  all.add<tasks::DynamicNodeClassification>("dynamic_node_classification",
                                            "which classes a node is of at a time");
  all.add<tasks::SelfSupervised>("self_supervised",
                                 "embeddings of nodes that are learned without labels");
  return all;
}

OptimizerCatalog builtin_optimizers() {
  OptimizerCatalog all("optimizer");
  all.add<nn::Adagrad>("adagrad", "steps that shrink with all gradients so far");
  all.add<nn::Adam>("adam", "adaptive steps; weight decay through the gradient");
  all.add<nn::AdamW>("adamw", "adaptive steps; weight decay apart from the gradient");
  all.add<nn::Sgd>("sgd", "plain steps, with momentum (classical or Nesterov) if set");
  return all;
}

}  // namespace sluice
