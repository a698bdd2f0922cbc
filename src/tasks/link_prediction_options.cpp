#include "tasks/link_prediction_options.h"

#include <sluice/error.h>

#include <fmt/format.h>

namespace sluice::tasks {
namespace {

using nn::DecoderKind;
using nn::LinkLoss;

void describe_decoder(LinkPredictionOptions& options, Schema& schema) {
  schema
      .choice("decoder",
              options.decoder,
              {{"dot", DecoderKind::kDot, "the dot product of both ends' rows"},
               {"mlp",
                DecoderKind::kMlp,
                "a network of one hidden layer over their elementwise product"},
               {"distmult",
                DecoderKind::kDistMult,
                "the sum of source * relation * destination; both directions alike"},
               {"complex",
                DecoderKind::kComplEx,
                "the same of complex numbers, the destination conjugated"},
               {"transe",
                DecoderKind::kTransE,
                "gamma less the distance of source + relation from the destination"},
               {"rotate",
                DecoderKind::kRotatE,
                "gamma less the distance of the source, turned by the relation, from it"}})
      .help(
          "what makes a score of two rows; from distmult on a row a relation is learned, which the "
          "edges' class labels tell (edges of types = \"labels\")");
  schema.field("decoder_hidden", options.decoder_hidden)
      .help("hidden columns of decoder \"mlp\"")
      .range(1, 1 << 20);
  schema.field("decoder_init", options.decoder_init)
      .help("rows of relations start uniform in (-decoder_init, decoder_init); not those of rotate")
      .range(0, 1e3);
  schema.field("relation_dropout", options.relation_dropout)
      .help("share of the elements of relations' rows zeroed in training, anew for each end asked")
      .range(0, 0.999);
  schema
      .choice("distance",
              options.distance,
              {{"l1", nn::Distance::kL1, "the sum of absolute differences"},
               {"l2", nn::Distance::kL2, "the root of the sum of squares"}})
      .help("of decoder \"transe\"");
  schema.field("gamma", options.gamma)
      .help("added to the scores of transe and rotate; rotate's rows start within (gamma + 2) / k")
      .range(0, 1e6);
  schema.field("reciprocal", options.reciprocal)
      .help(
          "learn a second row for each relation: what has a source is asked about as the relation "
          "turned round; wants ends = \"both\"");
}

void describe_loss(LinkPredictionOptions& options, Schema& schema) {
  schema
      .choice("loss",
              options.loss,
              {{"logistic", LinkLoss::kLogistic, "whether each is a link"},
               {"softmax", LinkLoss::kSoftmax, "which of a link and its negatives is the link"},
               {"all",
                LinkLoss::kAll,
                "which of all nodes is the end (1vsAll); reads and moves all learned rows in each "
                "step, of model \"embedding\""},
               {"margin", LinkLoss::kMargin, "that a link scores more than each negative"},
               {"self_adversarial",
                LinkLoss::kSelfAdversarial,
                "as logistic, negatives weighed by what they score, links by how rare they are"}})
      .help("what training minimises");
  schema.field("margin", options.margin).help("of loss \"margin\"").range(0, 1e6);
  schema.field("temperature", options.temperature)
      .help("of loss \"self_adversarial\": the higher, the more the hardest negatives weigh")
      .range(0, 1e3);
  schema
      .choice("ends",
              options.ends,
              {{"destination", LinkEnds::kDestination, "the destination alone"},
               {"both",
                LinkEnds::kBoth,
                "each end by the other, both losses averaged, ranks of both pooled"}})
      .help("which end of a link training asks about, and ranking = \"sampled\"");
  schema.field("relation_weight", options.relation_weight)
      .help("of a second loss: which relation is between both ends (distmult, complex); 0: none")
      .range(0, 1e3);
  schema
      .choice("regularizer",
              options.regularizer,
              {{"none", Regularizer::kNone, "nothing"},
               {"n3", Regularizer::kN3, "cubes of moduli (Lacroix et al. 2018)"},
               {"lp", Regularizer::kLp, "powers of absolute values, divided by the power"}})
      .help("what keeps rows small: summed over the rows of a mini-batch's links, by links");
  schema.field("regularizer_weight", options.regularizer_weight).help("of it").range(0, 1e6);
  schema.field("regularizer_power", options.regularizer_power)
      .help("of regularizer \"lp\"")
      .range(1, 10);
}

void describe_others(LinkPredictionOptions& options, Schema& schema) {
  schema.field("negatives", options.negatives)
      .help("other ends a link in training, drawn anew each epoch; uniformly, but for of_batch")
      .range(1, 1e6);
  schema.field("share", options.share)
      .help(
          "links share their negatives, `negatives` for each chunk, and at both ends; wanted by "
          "ends = \"both\"");
  schema.field("chunk", options.chunk)
      .help("links that share negatives; 0: all of a mini-batch")
      .range(0, 1e9);
  schema.field("of_batch", options.of_batch)
      .help("share of shared negatives that are ends of other links of the mini-batch: by degree")
      .range(0, 1);
  schema.field("eval_negatives", options.eval_negatives)
      .help(
          "other ends beside each end of a link that is asked about in evaluation (ends), the same "
          "in every epoch; auc and ap take the first destination of each, ranks are among all")
      .range(1, 1e6);
  schema
      .choice(
          "ranking",
          options.ranking,
          {{"sampled",
            Ranking::kSampled,
            "eval_negatives other destinations, and with ends = \"both\" as many other sources"},
           {"all",
            Ranking::kAll,
            "all nodes, at both ends, but those that make a link of train, valid or test; of an "
            "encoder once training is done, validations go by sampled ones, without such links"}})
      .help("what a link is ranked among in evaluation");
  schema.field("stored_negatives", options.stored_negatives)
      .help(
          "a folder with valid.npy and test.npy, the destinations that each link of the dataset's "
          "edge split is ranked among, and maybe valid_sources.npy and test_sources.npy; in the "
          "place of eval_negatives; docs/embeddings.md says how they are written");
  schema.field("filtered", options.filtered)
      .help(
          "no negative of training that makes a training link, of any type where they are not "
          "shared, which costs the in-degrees, else of the link's own, for 48 bytes an edge; none "
          "that is drawn in evaluation makes a link of train, valid or test with the same type");
  schema.field("hide_links", options.hide_links)
      .help(
          "a mini-batch of training does not see the links that it asks about, nor their reverse");
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "task 'link_prediction': " + message, hint);
}

}  // namespace

void LinkPredictionOptions::describe(Schema& schema) {
  links.describe(schema);
  schema.field("width", width).help("columns that the model encodes a node in").range(1, 1 << 20);
  describe_decoder(*this, schema);
  describe_loss(*this, schema);
  describe_others(*this, schema);
}

bool LinkPredictionOptions::typed(const RelationSchema& relation) const {
  return nn::reads_relations(decoder) && relation.labels &&
         relation.labels->kind == LabelKind::kClass;
}

void LinkPredictionOptions::check() const {
  if (reciprocal && !nn::reads_relations(decoder))
    refuse("reciprocal relations, of a decoder that reads none",
           "set task.reciprocal = false, or task.decoder = \"complex\" for one");
  if (reciprocal && ends != LinkEnds::kBoth)
    refuse("reciprocal relations are learned where sources are asked about too",
           "set task.ends = \"both\"");
  if (relation_dropout > 0 && !nn::reads_relations(decoder))
    refuse("dropout of relations' rows, of a decoder that reads none",
           "set task.relation_dropout = 0, or task.decoder = \"complex\" for one");
  if (relation_weight > 0 && decoder != DecoderKind::kDistMult && decoder != DecoderKind::kComplEx)
    refuse("relation_weight is for decoders distmult and complex", "set task.relation_weight = 0");
  if (loss == LinkLoss::kAll && decoder == DecoderKind::kMlp)
    refuse("loss \"all\" is not for decoder \"mlp\"", "set task.loss = \"softmax\"");
  if (ranking == Ranking::kAll && decoder == DecoderKind::kMlp)
    refuse("ranking \"all\" is not for decoder \"mlp\"", "set task.ranking = \"sampled\"");
  if (ranking == Ranking::kAll && !stored_negatives.empty())
    refuse("ranking \"all\" is among all nodes, and 'stored_negatives' names some",
           "set task.ranking = \"sampled\", or leave task.stored_negatives out");
  if (!stored_negatives.empty() && !links.edge_split.empty())
    refuse("stored negatives are of the dataset's edge split, and edge_split draws another",
           "leave task.edge_split or task.stored_negatives out");
  if (ends == LinkEnds::kBoth && loss != LinkLoss::kAll && !share)
    refuse("negatives at both ends are shared by links", "set task.share = true");
  if (regularizer == Regularizer::kNone && regularizer_weight > 0)
    refuse("regularizer_weight is set, and no regularizer", "set task.regularizer = \"n3\"");
  if (regularizer != Regularizer::kNone && regularizer_weight == 0)
    refuse("a regularizer of weight 0 does nothing",
           "set task.regularizer_weight = 0.01 for one, or task.regularizer = \"none\"");
  if (!share && (chunk > 0 || of_batch > 0))
    refuse(std::string(chunk > 0 ? "chunk" : "of_batch") +
               " is of negatives that links share, and these do not",
           "set task.share = true, or leave it out");
}

nn::DecoderOptions LinkPredictionOptions::decoder_options(const RelationSchema& relation,
                                                          RandomKey key) const {
  nn::DecoderOptions made;
  made.kind = decoder;
  made.width = width;
  made.hidden = decoder_hidden;
  made.relations = typed(relation) ? std::int64_t{relation.labels->width} : 1;
  if (reciprocal) made.relations *= 2;
  made.init = decoder_init;
  made.relation_dropout = relation_dropout;
  made.distance = distance;
  made.gamma = gamma;
  made.key = key;
  return made;
}

}  // namespace sluice::tasks
