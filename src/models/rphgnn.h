// RpHGNN (Hu et al., TKDE 2024) over what `sluice-prep propagate --method random_projection` made:
// the rounds of each relation, odd and even apart, are mixed by a 1x1 convolution over the rounds
// and taken through an MLP of their own; what comes of all is put side by side, or averaged, and
// taken through one more. No graph is read in training.
//
// Other tables, of labels (`--method labels`) or of the node's own features, are groups of one
// table, whose convolution is a factor and a shift, as published.
#pragma once

#include "models/table_groups.h"
#include "models/table_inputs.h"

#include <sluice/executor.h>
#include <sluice/nn/linear.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::models {

class RpHgnn final : public Model {
 public:
  enum class Merge { kConcat, kMean };
  struct Options {
    std::vector<std::string> tables;
    std::string round_zero = "features";
    std::int64_t filters = 2;
    std::int64_t hidden = 512;
    std::int64_t group_layers = 2;
    std::int64_t layers = 2;
    Merge merge = Merge::kConcat;
    double dropout = 0.5;
    double table_dropout = 0.1;
    void describe(Schema& schema);
  };
  /// Throws Error: kUsage for tables that are not there, and for rounds of several widths.
  RpHgnn(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;

  /// What is mixed by which convolution; places among the tables that it reads.
  const std::vector<TableGroup>& groups() const { return groups_; }

 private:
  /// A layer of an MLP, and the slope of what is below 0 behind it.
  struct Layer {
    std::shared_ptr<nn::Linear> linear;
    torch::Tensor slope;
  };
  /// What a group's rounds go through.
  struct Encoder {
    torch::Tensor filters, shifts;  // [filters, rounds], [filters, 1]
    std::vector<Layer> layers;
  };

  void add_round_zero();
  void add_encoder(std::size_t group);
  void add_last(std::int64_t output_width);
  Layer make_layer(const std::string& name, std::int64_t in, std::int64_t out);
  torch::Tensor dropped(std::string_view what, double rate, const torch::Tensor& x) const;
  torch::Tensor mixed(const Batch& batch, std::size_t group) const;
  torch::Tensor encoded(const Batch& batch, std::size_t group) const;

  Options options_;
  TableInputs inputs_;
  std::size_t num_types_;
  RandomKey key_;
  kernels::Executor executor_;
  std::vector<TableGroup> groups_;
  std::vector<Encoder> encoders_;  // by group
  std::vector<Layer> hidden_;      // of what all groups became together
  std::shared_ptr<nn::Linear> out_;
};

}  // namespace sluice::models
