// PendingRows: the rows of a node type that a layer reads, before a linear map that brings them to
// the layer's columns.
//
// What adds rows up may do so before their map: of sums over in-edges there are fewer than rows,
// and rows without gradients then need none. What cannot asks for them whole.
#pragma once

#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace sluice::nn {

class PendingRows {
 public:
  /// Of a type without rows.
  PendingRows() = default;
  /// @param rows f32 [n, columns]; undefined for none
  /// @param map may be null: the rows are what they stand for. It must outlive this.
  explicit PendingRows(torch::Tensor rows, const Linear* map = nullptr);

  bool defined() const { return rows_.defined(); }
  /// Whether the map is still to come.
  bool pending() const { return map_ != nullptr; }
  /// Columns before the map and behind it.
  std::int64_t columns_before() const { return rows_.size(1); }
  std::int64_t columns() const { return pending() ? map_->out() : rows_.size(1); }

  /// Before the map, where that is still to come: [n, columns_before()].
  const torch::Tensor& rows() const { return rows_; }
  /// Behind it: [n, columns()].
  torch::Tensor whole() const { return first(defined() ? rows_.size(0) : 0); }
  /// The same of the first `count` rows.
  torch::Tensor first(std::int64_t count) const;
  /// What a linear map makes of the first `count` rows, with its bias: [count, next.out()].
  torch::Tensor first_through(const Linear& next, std::int64_t count) const;
  /// What a matrix makes of sums of these rows: f32 [n, out].
  /// @param weight [out, sums a row * columns()]: of one or more sums a row, side by side
  /// @param sums of rows as they are: f32 [n, sums a row * columns_before()]
  /// @param shares f32 [n, sums a row]: of each sum, the weights that its rows had
  torch::Tensor through(Precision precision,
                        const torch::Tensor& weight,
                        const torch::Tensor& sums,
                        const torch::Tensor& shares) const;
  /// Applies the map now.
  void finish();

 private:
  torch::Tensor rows_;
  const Linear* map_ = nullptr;
};

/// All rows behind their maps, by node type.
std::vector<torch::Tensor> whole(const std::vector<PendingRows>& rows);
/// Rows that no map is to be applied to, by node type.
std::vector<PendingRows> as_they_are(const std::vector<torch::Tensor>& rows);

}  // namespace sluice::nn
