#include "nn/keyed_draws.h"

#include <cstdint>

namespace sluice::nn {
namespace {

constexpr std::uint64_t kGoldenStep = 0x9e3779b97f4a7c15ull;

// The same bits, as tensors take them.
constexpr std::int64_t as_signed(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits);
}

// A shift without the sign.
torch::Tensor shifted(const torch::Tensor& bits, std::int64_t places) {
  const std::int64_t left = (std::int64_t{1} << (64 - places)) - 1;
  return bits.bitwise_right_shift(places).bitwise_and(left);
}

// What core's RandomKey does with a counter's state; products wrap around.
torch::Tensor mixed(torch::Tensor bits) {
  bits = bits.bitwise_xor(shifted(bits, 30)) * as_signed(0xbf58476d1ce4e5b9ull);
  bits = bits.bitwise_xor(shifted(bits, 27)) * as_signed(0x94d049bb133111ebull);
  return bits.bitwise_xor(shifted(bits, 31));
}

}  // namespace

torch::Tensor draws(RandomKey key, const torch::Tensor& numbers) {
  return mixed((numbers + 1) * as_signed(kGoldenStep) + as_signed(key.draw(0)));
}

torch::Tensor pair_draws(RandomKey key, const torch::Tensor& first, const torch::Tensor& second) {
  return mixed((second + 1) * as_signed(kGoldenStep) + draws(key, first));
}

torch::Tensor below_rate(const torch::Tensor& bits, double rate) {
  constexpr double kUnit = 0x1.0p-53;
  return (shifted(bits, 11).to(torch::kFloat64) * kUnit).lt(rate);
}

torch::Tensor chosen(RandomKey key, const torch::Tensor& numbers, double rate) {
  return below_rate(draws(key, numbers), rate);
}

torch::Tensor drawn_order(RandomKey key, const torch::Tensor& numbers) {
  return draws(key, numbers).argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
}

}  // namespace sluice::nn
