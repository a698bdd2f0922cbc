// DistMult and ComplEx: scores are dot products of a query's row and a candidate's.
#include "nn/decoder_kinds.h"
#include "nn/dense_product.h"

namespace sluice::nn {
namespace {

class ProductDecoder : public RelationalDecoder {
 public:
  torch::Tensor pairwise(const torch::Tensor& queries,
                         const torch::Tensor& candidates) const final {
    return (queries * candidates).sum(1);
  }
  torch::Tensor combine(const torch::Tensor& queries, const torch::Tensor& candidates) const final {
    return dense_linear(queries, candidates, {});
  }
  torch::Tensor magnitude(const torch::Tensor& queries,
                          const torch::Tensor& candidates,
                          const torch::Tensor&) const final {
    return (queries * candidates).abs().sum(1);
  }
  bool is_product() const final { return true; }

 protected:
  explicit ProductDecoder(const DecoderOptions& options)
      : RelationalDecoder(options, options.width, options.init) {}
};

class DistMult final : public ProductDecoder {
 public:
  explicit DistMult(const DecoderOptions& options) : ProductDecoder(options) {}

  torch::Tensor query(const torch::Tensor& rows,
                      const torch::Tensor& relations,
                      Side) const override {
    return rows * query_rows(relations);
  }
  torch::Tensor score_relations(const torch::Tensor& sources,
                                const torch::Tensor& destinations) const override {
    return (sources * destinations).mm(relations_.t());
  }
};

// Real parts are the first half of the columns. The score is the real part of
// sum s * r * conj(o), which is linear in each of the three.
class ComplEx final : public ProductDecoder {
 public:
  explicit ComplEx(const DecoderOptions& options) : ProductDecoder(options) {}

  torch::Tensor query(const torch::Tensor& rows,
                      const torch::Tensor& relations,
                      Side looked) const override {
    const auto known = rows.chunk(2, 1), r = query_rows(relations).chunk(2, 1);
    if (looked == Side::kDestination)
      return torch::cat({known[0] * r[0] - known[1] * r[1], known[0] * r[1] + known[1] * r[0]}, 1);
    return torch::cat({known[0] * r[0] + known[1] * r[1], known[1] * r[0] - known[0] * r[1]}, 1);
  }
  torch::Tensor score_relations(const torch::Tensor& sources,
                                const torch::Tensor& destinations) const override {
    const auto s = sources.chunk(2, 1), o = destinations.chunk(2, 1);
    return torch::cat({s[0] * o[0] + s[1] * o[1], s[0] * o[1] - s[1] * o[0]}, 1).mm(relations_.t());
  }
  torch::Tensor squares(const torch::Tensor& rows) const override {
    const auto parts = rows.chunk(2, 1);
    return parts[0].square() + parts[1].square();
  }
};

}  // namespace

std::shared_ptr<Decoder> make_product_decoder(const DecoderOptions& options) {
  if (options.kind == DecoderKind::kComplEx) return std::make_shared<ComplEx>(options);
  return std::make_shared<DistMult>(options);
}

}  // namespace sluice::nn
