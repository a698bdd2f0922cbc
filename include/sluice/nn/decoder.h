// Decoder: scores of links between what two rows encode, for graphs of one relation or many.
//
// Each has two halves. `query` joins one end with the relation into the row that the other end
// should be like; `pairwise` scores such rows beside candidates, and `combine` each of them beside
// all candidates. So a query is made once, however many candidates it is asked about. The rows of
// relations are the decoder's own parameters. Used by one thread at a time.
#pragma once

#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

enum class DecoderKind {
  kDot,       ///< the dot product of both rows: nothing to learn, and both directions alike
  kMlp,       ///< a network of one hidden layer over their elementwise product
  kDistMult,  ///< sum of source * relation * destination (Yang et al. 2015)
  kComplEx,   ///< the same of complex numbers, the destination conjugated (Trouillon et al. 2016)
  kTransE,    ///< how far source + relation is from the destination (Bordes et al. 2013)
  kRotatE     ///< how far the source, turned by the relation, is from it (Sun et al. 2019)
};

/// Whether a decoder of the kind has rows of relations.
bool reads_relations(DecoderKind kind);

/// Which end is looked for.
enum class Side { kDestination, kSource };

enum class Distance { kL1, kL2 };

struct DecoderOptions {
  DecoderKind kind = DecoderKind::kDot;
  std::int64_t width = 64;      ///< columns of rows; even for complex numbers, real parts first
  std::int64_t hidden = 64;     ///< of an MLP
  std::int64_t relations = 1;   ///< rows of relations, reciprocal ones among them
  double init = 0.1;            ///< relation rows start uniform in (-init, init); not RotatE's
  double relation_dropout = 0;  ///< share of elements of relation rows that training queries lack
  Distance distance = Distance::kL2;  ///< of TransE
  double gamma = 0;                   ///< of distances: a score is gamma less the distance
  RandomKey key{1};                   ///< of what is learned, at the start
};

class Decoder : public torch::nn::Module {
 public:
  /// What candidates should be like: [n, width]. @param rows f32 [n, width] of the end that is
  /// known @param relations i64 [n]; undefined, or whatever, where there are none @param looked the
  /// other end
  virtual torch::Tensor query(const torch::Tensor& rows,
                              const torch::Tensor& relations,
                              Side looked) const = 0;
  /// A raw score a row: f32 [n].
  virtual torch::Tensor pairwise(const torch::Tensor& queries,
                                 const torch::Tensor& candidates) const = 0;
  /// Each beside all: f32 [n, m]. Memory in proportion to that, but for an MLP's and, on a GPU,
  /// RotatE's: these take as much a column of the rows.
  virtual torch::Tensor combine(const torch::Tensor& queries,
                                const torch::Tensor& candidates) const = 0;
  /// Of each pair: what rounding is a share of where terms cancel out, the sum of the absolute
  /// values that its score is made of. f32 [n]. @param scores of pairwise()
  virtual torch::Tensor magnitude(const torch::Tensor& /*queries*/,
                                  const torch::Tensor& /*candidates*/,
                                  const torch::Tensor& scores) const {
    return scores.abs();
  }
  /// Whether combine() is the matrix product with the candidates.
  virtual bool is_product() const { return false; }
  /// Whether scores depend on parameters beside those in queries.
  virtual bool learns_to_combine() const { return false; }
  /// Squared moduli of rows: [n, numbers].
  virtual torch::Tensor squares(const torch::Tensor& rows) const { return rows.square(); }
  /// Relations' rows as queries use them, but for dropout: [n, .]; undefined where there are none.
  virtual torch::Tensor relation_rows(const torch::Tensor& /*relations*/) const { return {}; }
  /// Before the queries of a training step, for draws: each query draws anew.
  virtual void set_step_key(RandomKey /*key*/) {}
  /// Scores of all relations between two ends: [n, relations]; undefined where that is no product.
  virtual torch::Tensor score_relations(const torch::Tensor& /*sources*/,
                                        const torch::Tensor& /*destinations*/) const {
    return {};
  }

  torch::Tensor score(const torch::Tensor& sources,
                      const torch::Tensor& relations,
                      const torch::Tensor& destinations) const {
    return pairwise(query(sources, relations, Side::kDestination), destinations);
  }
  torch::Tensor scores_against(const torch::Tensor& rows,
                               const torch::Tensor& relations,
                               Side looked,
                               const torch::Tensor& candidates) const {
    return combine(query(rows, relations, looked), candidates);
  }
};

/// Throws kUsage for a width that the kind cannot have.
std::shared_ptr<Decoder> make_decoder(const DecoderOptions& options);

}  // namespace sluice::nn
