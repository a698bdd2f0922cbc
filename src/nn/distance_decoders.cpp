// TransE and RotatE: the nearer a candidate is to what the query asks for, the higher it scores.
#include <math.h>
#include "nn/complex_distance.h"
#include "nn/decoder_kinds.h"

#include <cmath>

namespace sluice::nn {
namespace {

// Below it a distance has no direction, and its gradient is 0.
constexpr double kNoDistance = 1e-30;

// cdist's way by differences, whatever the sizes. Its other way, by a matrix product, loses what is
// small beside the rows, and is taken or not by how many rows there are: tiles would differ.
constexpr std::int64_t kByDifferences = 2;

// gamma and the distance, of scores that are one less the other.
torch::Tensor terms_of(const torch::Tensor& scores, double gamma) {
  return (gamma - scores).abs() + gamma;
}

class TransE final : public RelationalDecoder {
 public:
  explicit TransE(const DecoderOptions& options)
      : RelationalDecoder(options, options.width, options.init),
        gamma_(options.gamma),
        distance_(options.distance) {}

  torch::Tensor query(const torch::Tensor& rows,
                      const torch::Tensor& relations,
                      Side looked) const override {
    const torch::Tensor by = query_rows(relations);
    return looked == Side::kDestination ? rows + by : rows - by;
  }
  torch::Tensor pairwise(const torch::Tensor& queries,
                         const torch::Tensor& candidates) const override {
    const torch::Tensor apart = queries - candidates;
    return gamma_ - (distance_ == Distance::kL1
                         ? apart.abs().sum(1)
                         : apart.square().sum(1).clamp_min(kNoDistance).sqrt());
  }
  torch::Tensor combine(const torch::Tensor& queries,
                        const torch::Tensor& candidates) const override {
    return gamma_ -
           torch::cdist(queries, candidates, distance_ == Distance::kL1 ? 1 : 2, kByDifferences);
  }
  torch::Tensor magnitude(const torch::Tensor&,
                          const torch::Tensor&,
                          const torch::Tensor& scores) const override {
    return terms_of(scores, gamma_);
  }

 private:
  double gamma_;
  Distance distance_;
};

// A relation's row are angles: (-range, range) stands for a whole turn, so that they take steps of
// about the size that rows of nodes do (as in the authors' code).
class RotatE final : public RelationalDecoder {
 public:
  explicit RotatE(const DecoderOptions& options)
      : RelationalDecoder(options, options.width / 2, range_of(options)),
        gamma_(options.gamma),
        radians_(M_PI / range_of(options)) {}

  torch::Tensor query(const torch::Tensor& rows,
                      const torch::Tensor& relations,
                      Side looked) const override {
    const torch::Tensor angle = query_rows(relations) * radians_;
    const torch::Tensor re = angle.cos();
    const torch::Tensor im = looked == Side::kDestination ? angle.sin() : -angle.sin();
    const auto known = rows.chunk(2, 1);
    return torch::cat({known[0] * re - known[1] * im, known[0] * im + known[1] * re}, 1);
  }
  torch::Tensor pairwise(const torch::Tensor& queries,
                         const torch::Tensor& candidates) const override {
    return gamma_ - squares(queries - candidates).clamp_min(kNoDistance).sqrt().sum(1);
  }
  torch::Tensor combine(const torch::Tensor& queries,
                        const torch::Tensor& candidates) const override {
    return gamma_ - complex_distance(queries, candidates);
  }
  torch::Tensor magnitude(const torch::Tensor&,
                          const torch::Tensor&,
                          const torch::Tensor& scores) const override {
    return terms_of(scores, gamma_);
  }
  torch::Tensor squares(const torch::Tensor& rows) const override {
    const auto parts = rows.chunk(2, 1);
    return parts[0].square() + parts[1].square();
  }

 private:
  static double range_of(const DecoderOptions& options) {
    return (options.gamma + 2) / (static_cast<double>(options.width) / 2);
  }

  double gamma_;
  double radians_;
};

}  // namespace

std::shared_ptr<Decoder> make_distance_decoder(const DecoderOptions& options) {
  if (options.kind == DecoderKind::kRotatE) return std::make_shared<RotatE>(options);
  return std::make_shared<TransE>(options);
}

}  // namespace sluice::nn
