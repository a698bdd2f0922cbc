// ClassCounts: per class, how often it was predicted, true, and both; and the F1 scores of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::probe {

class ClassCounts {
 public:
  explicit ClassCounts(std::size_t classes)
      : predicted_(classes), actual_(classes), correct_(classes) {}

  void add_predicted(std::size_t c) { ++predicted_[c]; }
  void add_actual(std::size_t c) { ++actual_[c]; }
  void add_correct(std::size_t c) { ++correct_[c]; }

  /// F1 over all decisions together.
  double f1_micro() const;
  /// Mean of the classes' F1, over the classes that were predicted or true at all.
  double f1_macro() const;

 private:
  std::vector<std::int64_t> predicted_, actual_, correct_;
};

}  // namespace sluice::probe
