#include <sluice/nn/time_encoding.h>

#include <sluice/nn/init.h>
#include <sluice/options.h>

namespace sluice::nn {
namespace {

// f64 [width]: from 1 down to 10^-decades, each the same multiple of the one before.
torch::Tensor geometric_frequencies(std::int64_t width, double decades) {
  return torch::pow(10.0, torch::linspace(0, -decades, width, torch::kFloat64));
}

}  // namespace

void TimeEncodingOptions::describe(Schema& schema) {
  schema.field("time_width", width)
      .help("cosines that say how long ago an event was")
      .range(1, 1 << 16);
  schema
      .choice(
          "time_frequencies",
          frequencies,
          {{"fixed", TimeFrequencies::kFixed, "from one a unit down, evenly by their logarithms"},
           {"learned", TimeFrequencies::kLearned, "those at first; their logarithms are learned"}})
      .help("of the cosines");
  schema
      .choice("time_input",
              input,
              {{"linear", TimeInput::kLinear, "the time since the event"},
               {"log", TimeInput::kLog, "log(1 + the time since the event)"}})
      .help("what is multiplied by the frequencies");
  schema.field("time_unit", unit)
      .help("ticks of the dataset's times that the highest frequency turns by one radian in")
      .range(1, 1000000000000000000);
  schema.field("time_decades", decades)
      .help("powers of ten between the highest frequency and the lowest")
      .range(0, 18);
}

TimeEncoding::TimeEncoding(const TimeEncodingOptions& options) : options_(options) {
  const torch::Tensor first = geometric_frequencies(options.width, options.decades);
  if (options.frequencies == TimeFrequencies::kFixed) {
    frequencies_ = first;
    return;
  }
  torch::Tensor start = zeros({options.width});
  if (!start.is_meta()) start.copy_(first.log());
  log_frequencies_ = register_parameter("log_frequencies", start);
  phases_ = register_parameter("phases", zeros({options.width}));
}

torch::Tensor TimeEncoding::forward(const torch::Tensor& deltas) const {
  torch::Tensor input = deltas.to(torch::kFloat64).div(static_cast<double>(options_.unit));
  if (options_.input == TimeInput::kLog) input = input.log1p();
  input = input.unsqueeze(1);
  if (options_.frequencies == TimeFrequencies::kFixed)
    return (input * frequencies_.to(input.device())).cos().to(torch::kFloat32);
  const torch::Tensor turns = log_frequencies_.to(torch::kFloat64).exp();
  return (input * turns + phases_.to(torch::kFloat64)).cos().to(torch::kFloat32);
}

}  // namespace sluice::nn
