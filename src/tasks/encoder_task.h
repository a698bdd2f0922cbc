// EncoderTask: what a run asks of a task that trains an encoder by passes of its own: more layers
// of blocks than the model has, a second encoder that follows the first, figures by part.
#pragma once

#include <sluice/model.h>
#include <sluice/task.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

/// How the weights of the second encoder begin.
enum class TargetStart {
  kNone,  ///< there is none
  kCopy,  ///< as the first's
  kOwn    ///< drawn from a key of their own
};

class EncoderTask {
 public:
  virtual ~EncoderTask() = default;
  /// Layers of blocks that a mini-batch of training has behind those of the model, next to the
  /// seeds.
  virtual std::int64_t layers_behind() const = 0;
  virtual TargetStart target_start() const = 0;
  /// Once a run's model is made, before its optimizer is. @param target the second encoder, of the
  /// same options as the model, on its device; null where there is none. It gets no gradients, and
  /// is among the head's weights from now on.
  virtual void serve(const Model& model, std::shared_ptr<Model> target) = 0;
  /// Bytes that an evaluation of so many rows keeps until its end, beside its mini-batches.
  virtual std::uint64_t kept_bytes(std::uint64_t rows) const = 0;
  /// The figures of a part. @param chosen the metric that picks the best epoch, as "accuracy":
  /// validation leaves out what takes long and picks nothing
  virtual std::unique_ptr<MetricAccumulator> metrics_of(Part part,
                                                        const std::string& chosen) const = 0;
  /// The figures that may pick the best epoch.
  virtual std::vector<std::string> validation_metrics() const = 0;
};

}  // namespace sluice::tasks
