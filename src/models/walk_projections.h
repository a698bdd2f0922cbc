// WalkProjections: how many walks in time lead from each node to others, as random projections (Lu
// et al., NeurIPS 2024, "Improving temporal link prediction via temporal walk matrix projection":
// TPNet).
//
// H^0 is a random row a node, N(0, 1 / width), drawn by (key, epoch, node). H^l, l = 1 .. walks,
// are zeros when an epoch begins. A mini-batch's events (u, v, t), the last at t', add
//   H^l[u] += w H^(l-1)[v],  H^l[v] += w H^(l-1)[u],  w = exp(-decay (t' - t)),  l = walks .. 1,
// after H^l was multiplied by exp(-decay l (time since)). So H^l[a] . H^m[b] is close to the number
// of walks of l and m edges that meet, old edges counting for less. Events of a mini-batch do not
// chain. Rows decay when they are touched: a row keeps the time up to which it is decayed. Used by
// one thread.
#pragma once

#include <sluice/batch.h>
#include <sluice/nn/state_rows.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::models {

struct WalkProjectionOptions {
  std::int64_t walks = 3;  ///< edges of the longest
  std::int64_t width = 100;
  double decay = 1e-7;  ///< a tick
};

class WalkProjections {
 public:
  WalkProjections(const WalkProjectionOptions& options, RandomKey key)
      : options_(options), key_(key) {}

  nn::StateShape shape() const { return {options_.walks * options_.width, 1}; }
  void attach(nn::StateRows& rows) { state_ = &rows; }
  const WalkProjectionOptions& options() const { return options_; }

  /// Rows of all nodes of a mini-batch, type by type, each decayed to the time of its first query:
  /// f32 [nodes of all types, walks + 1, width].
  torch::Tensor rows(const Batch& batch) const;
  /// Where each type's rows begin among these.
  static std::vector<std::int64_t> offsets(const Batch& batch);

  void commit(const Batch& batch) const;

 private:
  // Nodes of a type, on the device: H^0 .. H^walks, decayed to a time.
  struct Chosen {
    std::size_t type = 0;
    std::vector<std::uint64_t> nodes;
    torch::Tensor rows;  // i64 [n], among the type's nodes of the mini-batch
  };
  std::vector<torch::Tensor> levels(const Chosen& nodes, std::int64_t time) const;
  torch::Tensor first_level(std::size_t type, const std::vector<std::uint64_t>& nodes) const;
  nn::StateRows& state() const;

  WalkProjectionOptions options_;
  RandomKey key_;
  nn::StateRows* state_ = nullptr;
};

/// What rows of pairs tell of each other: of both nodes' levels the products of all with all,
/// log(1 + x) of those above 0. f32 [n, (2 (walks + 1))^2]. @param a, b f32 [n, walks + 1, width]
torch::Tensor pair_products(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace sluice::models
