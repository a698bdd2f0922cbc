// SeHGNN (Yang et al., AAAI 2023): attention over the metapaths of a node. Each of its tables, its
// own features and the means along metapaths that `sluice-prep propagate` made, becomes one row of
// `hidden` columns; these are fused by one head of attention between them, side by side, and
// multiplied into what the classes are told by. No graph is read in training.
//
// Unlike the published code it normalises the last layers by row, not by mini-batch: a node's
// prediction depends on that node alone.
#pragma once

#include "models/table_inputs.h"

#include <sluice/executor.h>
#include <sluice/nn/linear.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::models {

class SeHgnn final : public Model {
 public:
  struct Options {
    std::vector<std::string> tables;
    std::vector<std::string> label_tables;
    std::int64_t hidden = 512;
    std::int64_t layers = 2;
    double dropout = 0.5;
    double table_dropout = 0.1;
    void describe(Schema& schema);
  };
  /// Throws Error: kUsage for tables that are not there, and label tables of several widths.
  SeHgnn(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;

  /// Of rows by metapath, f32 [seeds, tables, hidden]: what each table counts for each, f32 [seeds,
  /// tables, tables]; sums over the last are 1.
  torch::Tensor attention(const torch::Tensor& x) const;

 private:
  std::shared_ptr<nn::Linear> add_linear(const std::string& name,
                                         std::int64_t in,
                                         std::int64_t out);
  void add_slope(const std::string& name);
  void add_label_layers(const ModelContext& context);
  torch::Tensor dropped(std::string_view what, double rate, const torch::Tensor& x) const;
  torch::Tensor project(const Batch& batch) const;
  torch::Tensor fuse(const torch::Tensor& x) const;
  torch::Tensor told_by_labels(const Batch& batch) const;

  Options options_;
  TableInputs inputs_;
  std::size_t num_types_;
  RandomKey key_;
  kernels::Executor executor_;
  std::vector<std::size_t> label_tables_;  // places among the inputs
  std::vector<std::shared_ptr<nn::Linear>> of_table_;
  torch::Tensor by_table_, by_table_bias_;  // [tables, hidden, hidden], [tables, hidden]
  mutable torch::nn::LayerNorm first_norm_{nullptr}, second_norm_{nullptr}, out_norm_{nullptr};
  std::shared_ptr<nn::Linear> query_, keys_, values_;
  torch::Tensor gain_;  // of what attention adds: 0 at the start
  std::shared_ptr<nn::Linear> joined_, own_;
  std::vector<std::shared_ptr<nn::Linear>> last_, of_labels_;
  std::vector<torch::Tensor>
      slopes_;  // of what is below 0: after each half of project(), and joined
};

}  // namespace sluice::models
