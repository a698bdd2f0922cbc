// The sparse optimizers that come with Sluice, over the kernels of kernels/row_updates.h.
#pragma once

#include <sluice/sparse_optimizer.h>

namespace sluice {

/// No state: value -= lr * gradient.
class SparseSgd final : public SparseOptimizer {
 public:
  struct Options {
    double lr = 0.1;
    void describe(Schema& schema);
  };
  explicit SparseSgd(const Options& options) : options_(options) {}

  std::string_view name() const override { return "sgd"; }
  std::uint32_t state_width(std::uint32_t) const override { return 0; }
  double learning_rate() const override { return options_.lr; }
  void update(const kernels::Executor& executor,
              const RowGradients& rows,
              double rate) const override;

 private:
  Options options_;
};

struct SparseAdagradOptions {
  double lr = 0.1;
  double epsilon = 1e-10;
  void describe(Schema& schema);
};

/// A sum of squares an element (Duchi, Hazan, Singer 2011), as torch.optim.Adagrad.
class SparseAdagrad final : public SparseOptimizer {
 public:
  using Options = SparseAdagradOptions;
  explicit SparseAdagrad(const Options& options) : options_(options) {}

  std::string_view name() const override { return "adagrad"; }
  std::uint32_t state_width(std::uint32_t dim) const override { return dim; }
  double learning_rate() const override { return options_.lr; }
  void update(const kernels::Executor& executor,
              const RowGradients& rows,
              double rate) const override;

 private:
  Options options_;
};

/// One sum a row, of the means of squares: half the row to keep and to move.
class SparseRowAdagrad final : public SparseOptimizer {
 public:
  using Options = SparseAdagradOptions;
  explicit SparseRowAdagrad(const Options& options) : options_(options) {}

  std::string_view name() const override { return "adagrad_row"; }
  std::uint32_t state_width(std::uint32_t) const override { return 1; }
  double learning_rate() const override { return options_.lr; }
  void update(const kernels::Executor& executor,
              const RowGradients& rows,
              double rate) const override;

 private:
  Options options_;
};

/// Adam whose steps are counted by the row: its corrections depend on what the row has seen, not on
/// when it was first seen, and no count is kept outside the rows. (torch.optim.SparseAdam counts
/// all steps: there a row that comes late takes a first step of about 3 lr.)
class SparseAdam final : public SparseOptimizer {
 public:
  struct Options {
    double lr = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    void describe(Schema& schema);
  };
  explicit SparseAdam(const Options& options) : options_(options) {}

  std::string_view name() const override { return "adam"; }
  std::uint32_t state_width(std::uint32_t dim) const override { return 2 * dim + 1; }
  double learning_rate() const override { return options_.lr; }
  void update(const kernels::Executor& executor,
              const RowGradients& rows,
              double rate) const override;

 private:
  Options options_;
};

}  // namespace sluice
