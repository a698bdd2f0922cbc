// TimeEncoding: how long ago an event was, as a row of cosines (Xu et al., ICLR 2020: Bochner's
// theorem; with fixed frequencies: Cong et al., ICLR 2023).
//
//   out[i, c] = cos(f(delta_i / unit) * w_c + b_c),  w_c = 10^(-decades * c / (width - 1)) at first
// Differences stay i64, and phases f64, until the cosine is taken: of a year in seconds f32 knows
// the phase of the highest frequency to no more than two radians. What is learned is log w and b: a
// step of Adam on w itself, which is large beside the low frequencies, destroys these. Used by one
// thread at a time.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace sluice {
class Schema;
}

namespace sluice::nn {

enum class TimeFrequencies { kFixed, kLearned };

/// What of a difference in time is multiplied by frequencies.
enum class TimeInput {
  kLinear,  ///< itself
  kLog      ///< log(1 + it)
};

struct TimeEncodingOptions {
  std::int64_t width = 100;
  TimeFrequencies frequencies = TimeFrequencies::kFixed;
  TimeInput input = TimeInput::kLinear;
  std::int64_t unit = 1;  ///< ticks of the dataset's times that count as 1
  double decades = 9;     ///< between the highest frequency, 1 a unit, and the lowest

  /// The keys time_width, time_frequencies, time_input, time_unit and time_decades.
  void describe(Schema& schema);
};

class TimeEncoding : public torch::nn::Module {
 public:
  explicit TimeEncoding(const TimeEncodingOptions& options);

  /// @param deltas i64 [n], ticks, none negative; the result is f32 [n, width]
  torch::Tensor forward(const torch::Tensor& deltas) const;
  std::int64_t width() const { return options_.width; }

 private:
  TimeEncodingOptions options_;
  torch::Tensor frequencies_;               // f64 [width], where they are fixed
  torch::Tensor log_frequencies_, phases_;  // f32 [width], where they are learned
};

}  // namespace sluice::nn
