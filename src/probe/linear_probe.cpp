#include "probe/linear_probe.h"

#include "nn/one_thread.h"
#include "probe/class_counts.h"
#include "probe/logistic.h"

#include <sluice/error.h>
#include <sluice/nn/init.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace sluice::probe {
namespace {

using torch::Tensor;
namespace functional = torch::nn::functional;

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// Labels of one class a row, or of several: what the probe asks of either.
class Targets {
 public:
  Targets(const Tensor& labels, std::int64_t rows) : labels_(labels) {
    single_ = labels.defined() && labels.dim() == 1 && labels.scalar_type() == torch::kInt64;
    const bool several =
        labels.defined() && labels.dim() == 2 &&
        (labels.scalar_type() == torch::kFloat32 || labels.scalar_type() == torch::kUInt8);
    if ((!single_ && !several) || labels.size(0) != rows || !labels.device().is_cpu())
      throw Error(ErrorCode::kUsage,
                  fmt::format("a probe of {} rows wants as many labels", rows),
                  "give i64 [n], one class a row or -1, or f32 or u8 [n, classes] of 0 and 1");
    if (several) labels_ = labels.to(torch::kFloat32);
    classes_ = several               ? labels.size(1)
               : labels.numel() == 0 ? 0
                                     : labels.max().item<std::int64_t>() + 1;
  }

  std::int64_t classes() const { return classes_; }
  /// Those of `rows` that have labels, in their order.
  Tensor labelled(const Tensor& rows) const {
    if (!single_) return rows;
    return rows.index_select(0, labels_.index_select(0, rows).ge(0).nonzero().flatten());
  }
  Tensor of(const Tensor& rows) const { return labels_.index_select(0, rows); }
  Tensor loss(const Tensor& scores, const Tensor& truth) const {
    return single_ ? functional::cross_entropy(scores, truth)
                   : functional::binary_cross_entropy_with_logits(scores, truth);
  }
  /// bool [n]: rows whose classes are all right.
  Tensor right(const Tensor& scores, const Tensor& truth) const {
    return single_ ? scores.argmax(1).eq(truth) : scores.gt(0).eq(truth.gt(0)).all(1);
  }
  ClassCounts count(const Tensor& scores, const Tensor& truth) const {
    ClassCounts counts(static_cast<std::size_t>(classes_));
    const auto columns = [this](const Tensor& classes) {
      return single_ ? torch::one_hot(classes, classes_).to(torch::kBool) : classes.gt(0);
    };
    const Tensor guesses = columns(single_ ? scores.argmax(1) : scores);
    const Tensor actual = columns(truth);
    const auto guess = guesses.accessor<bool, 2>(), real = actual.accessor<bool, 2>();
    for (std::int64_t row = 0; row < guesses.size(0); ++row) {
      for (std::int64_t c = 0; c < classes_; ++c) {
        if (guess[row][c]) counts.add_predicted(static_cast<std::size_t>(c));
        if (real[row][c]) counts.add_actual(static_cast<std::size_t>(c));
        if (guess[row][c] && real[row][c]) counts.add_correct(static_cast<std::size_t>(c));
      }
    }
    return counts;
  }

 private:
  Tensor labels_;
  bool single_ = false;
  std::int64_t classes_ = 0;
};

// A part's rows and labels.
struct Examples {
  Examples(const Tensor& rows, const Targets& targets, const Tensor& part)
      : numbers(targets.labelled(part)),
        x(rows.index_select(0, numbers)),
        truth(targets.of(numbers)) {}

  bool empty() const { return numbers.numel() == 0; }

  Tensor numbers, x, truth;
};

double share(const Tensor& right) {
  if (right.numel() == 0) return kNoFigure;
  return static_cast<double>(right.sum().item<std::int64_t>()) / static_cast<double>(right.numel());
}

Tensor part_or_none(const Tensor& part, std::int64_t rows, const char* what) {
  if (!part.defined()) return torch::empty({0}, torch::kInt64);
  check_numbers(part, rows, what);
  return part.flatten();
}

}  // namespace

void LinearProbeOptions::describe(Schema& schema) {
  schema.field("epochs", epochs)
      .help("steps of the linear probe, each over all training rows")
      .range(1, 1e6);
  schema.field("learning_rate", learning_rate).help("of the linear probe, by Adam").range(0, 100);
  schema.field("weight_decay", weight_decay)
      .help("of the linear probe's weights: added to their gradient")
      .range(0, 100);
}

ProbedNodes probe_nodes(const Tensor& all_rows,
                        const Tensor& labels,
                        const NodeParts& parts,
                        const LinearProbeOptions& options,
                        RandomKey key) {
  const nn::OneThread one_thread;
  check_rows(all_rows);
  const Tensor rows = all_rows.detach();
  const Targets targets(labels, rows.size(0));
  const Examples train(rows, targets, part_or_none(parts.train, rows.size(0), "training rows"));
  const Examples valid(rows, targets, part_or_none(parts.valid, rows.size(0), "validation rows"));
  const Examples test(rows, targets, part_or_none(parts.test, rows.size(0), "test rows"));
  if (train.empty() || targets.classes() == 0)
    throw Error(ErrorCode::kData,
                "no training row has a label: there is nothing to probe by",
                "choose a split whose training nodes are labelled");
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, rows.size(1))));
  const RandomKey drawn = key.with("linear probe");
  const LinearLayer layer = train_layer(
      {nn::uniform(drawn.with("weight"), {targets.classes(), rows.size(1)}, bound),
       nn::uniform(drawn.with("bias"), {targets.classes()}, bound)},
      train.x,
      [&](const Tensor& scores) { return targets.loss(scores, train.truth); },
      [&](const LinearLayer& now) {
        return valid.empty() ? kNoFigure : share(targets.right(now.scores(valid.x), valid.truth));
      },
      options);
  const torch::NoGradGuard no_gradients;
  const auto right = [&](const Examples& part) {
    return targets.right(layer.scores(part.x), part.truth);
  };
  ProbedNodes probed;
  probed.trained = train.numbers;
  probed.tested = test.numbers;
  probed.right = right(test);
  probed.scores = {
      share(right(train)), share(right(valid)), share(probed.right), kNoFigure, kNoFigure};
  if (test.empty()) return probed;
  const ClassCounts counts = targets.count(layer.scores(test.x), test.truth);
  probed.scores.f1_micro = counts.f1_micro();
  probed.scores.f1_macro = counts.f1_macro();
  return probed;
}

ProbeScores linear_probe(const Tensor& rows,
                         const Tensor& labels,
                         const NodeParts& parts,
                         const LinearProbeOptions& options,
                         RandomKey key) {
  return probe_nodes(rows, labels, parts, options, key).scores;
}

}  // namespace sluice::probe
