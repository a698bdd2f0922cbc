// SIGN (Frasca et al. 2020): a small MLP over each of a node's feature tables, its own and those
// that `sluice-prep propagate` made of its neighbourhoods, side by side, and a matrix over all. No
// graph is read in training. Without layers, over one table, it is SGC (Wu et al. 2019).
#pragma once

#include "models/table_inputs.h"

#include <sluice/executor.h>
#include <sluice/nn/linear.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::models {

class Sign final : public Model {
 public:
  struct Options {
    std::vector<std::string> tables;
    std::int64_t layers = 1;
    std::int64_t hidden = 256;
    double dropout = 0.5;
    double table_dropout = 0;
    void describe(Schema& schema);
  };
  Sign(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;

 private:
  torch::Tensor dropped(const RandomKey& key, double rate, const torch::Tensor& x) const;

  Options options_;
  TableInputs inputs_;
  std::size_t num_types_;
  kernels::Executor executor_;
  std::vector<std::vector<std::shared_ptr<nn::Linear>>> of_table_;  // by table and layer
  std::vector<torch::Tensor> slopes_;  // of what is below 0, by table; none without layers
  std::shared_ptr<nn::Linear> out_;
};

}  // namespace sluice::models
