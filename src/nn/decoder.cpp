#include <sluice/nn/decoder.h>

#include "nn/decoder_kinds.h"
#include "nn/dense_product.h"

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>
#include <sluice/nn/linear.h>

#include <fmt/format.h>

namespace sluice::nn {
namespace {

class DotDecoder final : public Decoder {
 public:
  torch::Tensor query(const torch::Tensor& rows, const torch::Tensor&, Side) const override {
    return rows;
  }
  torch::Tensor pairwise(const torch::Tensor& queries,
                         const torch::Tensor& candidates) const override {
    return (queries * candidates).sum(1);
  }
  torch::Tensor combine(const torch::Tensor& queries,
                        const torch::Tensor& candidates) const override {
    return dense_linear(queries, candidates, {});
  }
  torch::Tensor magnitude(const torch::Tensor& queries,
                          const torch::Tensor& candidates,
                          const torch::Tensor&) const override {
    return (queries * candidates).abs().sum(1);
  }
  bool is_product() const override { return true; }
};

class MlpDecoder final : public Decoder {
 public:
  explicit MlpDecoder(const DecoderOptions& options)
      : hidden_(register_module(
            "hidden",
            std::make_shared<Linear>(
                options.width, options.hidden, Bias::kZero, options.key.with("hidden")))),
        out_(register_module(
            "out",
            std::make_shared<Linear>(options.hidden, 1, Bias::kZero, options.key.with("out")))) {}

  torch::Tensor query(const torch::Tensor& rows, const torch::Tensor&, Side) const override {
    return rows;
  }
  torch::Tensor pairwise(const torch::Tensor& queries,
                         const torch::Tensor& candidates) const override {
    return out_->forward(torch::relu(hidden_->forward(queries * candidates))).squeeze(1);
  }
  torch::Tensor combine(const torch::Tensor& queries,
                        const torch::Tensor& candidates) const override {
    const std::int64_t count = candidates.size(0);
    const torch::Tensor each = queries.repeat_interleave(count, 0);
    return pairwise(each, candidates.repeat({queries.size(0), 1})).view({-1, count});
  }
  bool learns_to_combine() const override { return true; }

 private:
  std::shared_ptr<Linear> hidden_, out_;
};

}  // namespace

RelationalDecoder::RelationalDecoder(const DecoderOptions& options,
                                     std::int64_t columns,
                                     double bound)
    : relations_(register_parameter(
          "relations",
          uniform(options.key.with("relations"), {options.relations, columns}, bound))),
      dropout_(options.relation_dropout) {}

// The mask is made on the host, wherever rows are: a mini-batch has few elements of relations.
torch::Tensor RelationalDecoder::query_rows(const torch::Tensor& relations) const {
  torch::Tensor rows = relation_rows(relations);
  if (!is_training() || dropout_ <= 0) return rows;
  const RandomKey key = step_key_.with("relations").with(queries_++);
  return rows * dropout({}, key, dropout_, torch::ones(rows.sizes())).to(rows.device());
}

bool reads_relations(DecoderKind kind) {
  return kind != DecoderKind::kDot && kind != DecoderKind::kMlp;
}

std::shared_ptr<Decoder> make_decoder(const DecoderOptions& options) {
  const bool complex =
      options.kind == DecoderKind::kComplEx || options.kind == DecoderKind::kRotatE;
  if (complex && options.width % 2 != 0)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("a decoder over complex numbers cannot read rows of {} columns", options.width),
        "set task.width to an even number: the real parts, then the imaginary ones");
  switch (options.kind) {
    case DecoderKind::kDot:
      return std::make_shared<DotDecoder>();
    case DecoderKind::kMlp:
      return std::make_shared<MlpDecoder>(options);
    case DecoderKind::kDistMult:
    case DecoderKind::kComplEx:
      return make_product_decoder(options);
    case DecoderKind::kTransE:
    case DecoderKind::kRotatE:
      return make_distance_decoder(options);
  }
  throw Error(ErrorCode::kInternal, "a decoder without a kind");
}

}  // namespace sluice::nn
