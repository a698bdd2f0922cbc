#include "nn/products.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

namespace sluice::nn {
namespace {

using torch::Tensor;

constexpr std::array kLibraries{ProductLibrary::kLibTorch, ProductLibrary::kOneDnn};

bool can_run(ProductLibrary library) {
  if (library == ProductLibrary::kLibTorch || one_dnn_can_be_called()) return true;
  MESSAGE("skipped: this LibTorch does not let its oneDNN be called");
  return false;
}

// Of sums of `terms` products of numbers near 1, in f32.
void check_near(const Tensor& got, const Tensor& wanted, std::int64_t terms) {
  CHECK((got.scalar_type() == torch::kFloat32));
  REQUIRE(got.sizes() == wanted.sizes());
  if (got.numel() == 0) return;
  const double error = (got.to(torch::kFloat64) - wanted).abs().max().item<double>();
  CHECK(error < 1e-5 * std::sqrt(static_cast<double>(terms) + 1));
}

// Around the pieces' sizes, and odd ones.
struct Shape {
  std::int64_t n, k, m;
};
const std::array kShapes{Shape{0, 32, 32},
                         Shape{1, 16, 47},
                         Shape{1023, 128, 64},
                         Shape{1024, 128, 64},
                         Shape{1025, 100, 47},
                         Shape{8191, 16, 16},
                         Shape{8192, 33, 128},
                         Shape{11'777, 128, 128},
                         Shape{2048, 15, 128},
                         Shape{2048, 128, 7}};

TEST_CASE("products in pieces are those of double, whatever the rows, and add to what is there") {
  for (const ProductLibrary library : kLibraries) {
    if (!can_run(library)) continue;
    const Products products(library);
    for (const auto& [n, k, m] : kShapes) {
      CAPTURE(static_cast<int>(library));
      CAPTURE(n);
      CAPTURE(k);
      CAPTURE(m);
      torch::manual_seed(static_cast<std::uint64_t>(n + k + m));
      const Tensor x = torch::randn({n, k}), w = torch::randn({k, m}), other = torch::randn({n, m});
      const Tensor by = x.to(torch::kFloat64).mm(w.to(torch::kFloat64));
      check_near(products.rows(x, w), by, k);
      // Transposed weights, as layers hold them.
      check_near(products.rows(x, w.t().contiguous().t()), by, k);
      Tensor sum = other.clone();
      products.add_rows(x, w, sum);
      check_near(sum, by + other.to(torch::kFloat64), k);
      check_near(
          products.columns(x, other), x.to(torch::kFloat64).t().mm(other.to(torch::kFloat64)), n);
      // The first rows of a matrix, as a block's targets are.
      if (n < 2) continue;
      check_near(products.rows(x.narrow(0, 0, n - 1), w), by.narrow(0, 0, n - 1), k);
    }
  }
}

TEST_CASE("a linear map in pieces has the gradients of double") {
  for (const ProductLibrary library : kLibraries) {
    if (!can_run(library)) continue;
    for (const bool biased : {false, true}) {
      CAPTURE(static_cast<int>(library));
      CAPTURE(biased);
      torch::manual_seed(3);
      const auto options = torch::TensorOptions().requires_grad(true);
      Tensor x = torch::randn({1500, 40}, options), weight = torch::randn({24, 40}, options);
      Tensor bias = biased ? torch::randn({24}, options) : Tensor();
      const Tensor pull = torch::randn({1500, 24});
      const Tensor out = Products(library).linear(x, weight, bias);
      (out * pull).sum().backward();
      const auto exact = [](const Tensor& t) {
        return t.detach().to(torch::kFloat64).requires_grad_(true);
      };
      Tensor x64 = exact(x), weight64 = exact(weight), bias64 = biased ? exact(bias) : Tensor();
      const Tensor out64 = torch::linear(x64, weight64, bias64);
      (out64 * pull.to(torch::kFloat64)).sum().backward();
      check_near(out.detach(), out64.detach(), 40);
      check_near(x.grad(), x64.grad(), 24);
      check_near(weight.grad(), weight64.grad(), 1500);
      if (biased) check_near(bias.grad(), bias64.grad(), 1500);
    }
  }
}

TEST_CASE("the same product is the same bits again, for any rows that follow") {
  if (!can_run(ProductLibrary::kOneDnn)) return;
  const Products products(ProductLibrary::kOneDnn);
  torch::manual_seed(5);
  const Tensor x = torch::randn({20'000, 128}), w = torch::randn({128, 128});
  const Tensor whole = products.rows(x, w);
  CHECK(whole.equal(products.rows(x, w)));
  CHECK(products.columns(x, whole).equal(products.columns(x, whole)));
  // Pieces are cut from the first row on.
  const Tensor first = products.rows(x.narrow(0, 0, 8192), w);
  CHECK(first.equal(whole.narrow(0, 0, 8192)));
}

}  // namespace
}  // namespace sluice::nn
