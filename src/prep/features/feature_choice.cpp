#include "prep/features/feature_choice.h"

#include "prep/features/elements.h"

#include <sluice/error.h>

#include <string>

namespace sluice {

void FeatureChoice::describe(Schema& schema) {
  schema
      .choice<FeatureDType>(
          "dtype",
          dtype,
          {{"auto", FeatureDType::kAuto, "f16 and f32 as they are, everything else as f32"},
           {"f32", FeatureDType::kF32, "4 bytes an element"},
           {"f16", FeatureDType::kF16, "2 bytes, 11 bits of precision, up to 65504"},
           {"bf16", FeatureDType::kBF16, "2 bytes, 8 bits of precision, the range of f32"},
           {"int8",
            FeatureDType::kInt8,
            "1 byte, -127 to 127 times a scale a row: its largest magnitude / 127"}})
      .help("how features are stored");
  schema
      .choice<Rounding>(
          "rounding",
          rounding,
          {{"auto", Rounding::kAuto, "stochastic for int8; all else rounds to nearest even"},
           {"nearest", Rounding::kNearest, "half of the largest error, but a bias a value"},
           {"stochastic",
            Rounding::kStochastic,
            "int8 only: up or down by chance, right on average; the same seed, row and column "
            "give the same bits"}})
      .help("how values between two that can be stored are rounded");
}

DType FeatureChoice::stored(DType from) const {
  switch (dtype) {
    case FeatureDType::kF32:
      return DType::kF32;
    case FeatureDType::kF16:
      return DType::kF16;
    case FeatureDType::kBF16:
      return DType::kBF16;
    case FeatureDType::kInt8:
      return DType::kI8;
    case FeatureDType::kAuto:
      break;
  }
  return is_feature_float(from) ? from : DType::kF32;
}

void FeatureChoice::check(const std::string& where) const {
  if (rounding != Rounding::kStochastic || dtype == FeatureDType::kInt8) return;
  throw Error(ErrorCode::kUsage,
              where + ": rounding = \"stochastic\" is for dtype = \"int8\"",
              "leave rounding out: floats round to nearest even");
}

}  // namespace sluice
