#include "prep/propagate/predicted_scores.h"

#include "prep/features/elements.h"
#include "prep/propagate/product_walk.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr std::uint64_t kScoreStaging = std::uint64_t{2} << 20;
constexpr std::uint64_t kScorePiece = std::uint64_t{1} << 19;

StoredRows stored_scores(const Dataset& dataset,
                         const NodeTypeSchema& node,
                         const std::string& table,
                         MemoryLedger& ledger) {
  FeatureStoreOptions how;
  how.staging_bytes = kScoreStaging;
  auto store = dataset.features(node.name, how, table);
  const std::uint64_t rows = chunk_rows(kScorePiece, store->row_bytes());
  return {std::move(store), rows, ledger};
}

}  // namespace

PredictedScores::PredictedScores(const Dataset& dataset,
                                 const NodeTypeSchema& node,
                                 const std::string& table,
                                 MemoryLedger& ledger)
    : name_(table), rows_(stored_scores(dataset, node, table, ledger)) {
  const std::uint64_t rows = std::min(rows_.rows(), chunk_rows(kScorePiece, rows_.row_bytes()));
  buffer_ = AlignedBuffer::make(rows * rows_.row_bytes(), &ledger, "propagated rows").or_throw();
}

std::span<const std::byte> PredictedScores::row_of(std::uint64_t node) {
  const std::size_t bytes = rows_.row_bytes();
  if (node < first_ || node >= first_ + held_) {
    first_ = node;
    held_ = std::min<std::uint64_t>(buffer_.size() / bytes, rows_.rows() - node);
    rows_.read(first_, buffer_.bytes().first(held_ * bytes));
  }
  return std::span<const std::byte>(buffer_.bytes()).subspan((node - first_) * bytes, bytes);
}

void PredictedScores::probabilities(std::uint64_t node, std::span<double> out) {
  const std::span<const std::byte> row = row_of(node);
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c] = element_as_double(rows_.dtype(), row, c);
    if (!std::isfinite(out[c]))
      throw Error(
          ErrorCode::kData,
          fmt::format("table '{}': the score of class {} of node {} is not finite", name_, c, node),
          "attach the scores of a model that was trained to an end");
  }
  const double most = *std::ranges::max_element(out);
  double sum = 0;
  for (double& value : out) {
    value = std::exp(value - most);
    sum += value;
  }
  for (double& value : out) value /= sum;
}

}  // namespace sluice
