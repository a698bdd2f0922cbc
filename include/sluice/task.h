// Task: what the outputs are for. Owns labels, loss and metrics; the model knows nothing of them.
#pragma once

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/options.h>

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace sluice {

/// Collects outputs over an evaluation and sums them up. Order of `add` calls must not matter
/// beyond float rounding of sums, which are kept in f64.
class MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;
  virtual void add(const torch::Tensor& outputs, const Batch& batch) = 0;
  /// Name -> value: "accuracy", "f1_macro", "loss", ... NaN where there is no figure: nothing was
  /// labelled, or outputs of something that was are not finite.
  virtual std::map<std::string, double> result() const = 0;
};

enum class Better { kHigher, kLower };

class Task {
 public:
  virtual ~Task() = default;

  /// Index of the node type whose nodes are the seeds.
  virtual std::size_t target_type() const = 0;
  /// Columns the model must give.
  virtual std::int64_t output_width() const = 0;

  /// Scalar to minimise, the mean over the batch's labelled seeds.
  virtual torch::Tensor loss(const torch::Tensor& outputs, const Batch& batch) = 0;
  virtual std::unique_ptr<MetricAccumulator> make_metrics() const = 0;

  /// How many labels are known of some rows of them, in host memory: what the loss is the mean
  /// over. All rows, unless a task knows of missing ones.
  virtual std::int64_t num_labelled(const Array& labels) const {
    return labels.shape().empty() ? 0 : labels.shape().front();
  }

  /// The metric that picks the best epoch when the config names none, and whether more is better.
  virtual std::string main_metric() const = 0;
  virtual Better direction(const std::string& metric) const = 0;

  /// What `predict` writes for each seed: f32 or i64 [batch, columns], and the columns' names.
  virtual torch::Tensor predict(const torch::Tensor& outputs) const = 0;
  virtual std::vector<std::string> prediction_columns() const = 0;
  /// What the user calls the values of the only column, by value; empty where they are numbers.
  virtual std::vector<std::string> prediction_names() const { return {}; }
};

/// What a task is built for: `Task(Options, TaskContext)`; throws kUsage when the dataset lacks
/// what it needs.
struct TaskContext {
  const GraphSchema& schema;
};

}  // namespace sluice
