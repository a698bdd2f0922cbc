// RowPopularity: how often mini-batches ask for the rows of a table, learnt from a few of them.
//
// Each row is taken to be asked for by a mini-batch with a chance of its own, independently of the
// other mini-batches; rows of (nearly) one chance are a class. What is seen is how many rows j of n
// trial mini-batches asked for, j = 0..n, which is a mixture of binomials: the share of each class
// follows by expectation maximisation (Dempster, Laird and Rubin 1977), begun with equal shares and
// ended early, so that what the trial cannot tell apart stays spread out. The number of rows that
// were never asked for is known, which is what species counts lack. A value; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class RowPopularity {
 public:
  /// @param asked_by [j]: rows that j of the trial mini-batches asked for. @pre two numbers or
  /// more, not all 0
  explicit RowPopularity(std::span<const std::uint64_t> asked_by);

  std::size_t classes() const { return chances_.size(); }
  /// The chance that a mini-batch asks for a row of the class; some class's is 0.
  double chance(std::size_t of_class) const { return chances_[of_class]; }
  /// The class of a row that so many trial mini-batches asked for: drawn by `uniform`, in [0, 1),
  /// as the shares of the classes have it.
  std::size_t draw_class(std::size_t asked_by, double uniform) const;
  /// The rows that so many mini-batches ask for, each counted once: expected.
  double distinct(double batches) const;

 private:
  double likelihood(std::size_t of_class, std::size_t asked_by) const {
    return likelihoods_[of_class * (trials_ + 1) + asked_by];
  }
  void fit(std::span<const std::uint64_t> asked_by);

  std::size_t trials_;
  double rows_ = 0;
  std::vector<double> chances_;
  std::vector<double> shares_;       // of the rows, by class
  std::vector<double> likelihoods_;  // by class and count
};

}  // namespace sluice
