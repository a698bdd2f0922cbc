// How features are to be stored, as users choose it: the keys `dtype` and `rounding` that importing
// and generating share.
#pragma once

#include <sluice/dtype.h>
#include <sluice/options.h>

namespace sluice {

enum class FeatureDType { kAuto, kF32, kF16, kBF16, kInt8 };
enum class Rounding { kAuto, kNearest, kStochastic };

struct FeatureChoice {
  FeatureDType dtype = FeatureDType::kAuto;
  Rounding rounding = Rounding::kAuto;

  void describe(Schema& schema);

  /// What is stored for input of dtype `from`: a float of `auto` stays what it is, where it can.
  DType stored(DType from) const;
  /// Whether int8 is rounded at random: unless told otherwise.
  bool stochastic() const { return rounding != Rounding::kNearest; }
  /// Throws kUsage for rounding that the dtype does not have. @param where begins the message
  void check(const std::string& where) const;
};

}  // namespace sluice
