// Products of dense matrices beside those in double, of sizes that are cut into pieces and sizes
// that are not.
#include "nn/dense_product.h"

#include "nn/support.h"

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

TEST_CASE("matrix products of all sizes, of matrices and of matrices turned round") {
  struct Sizes {
    std::int64_t rows, sums, columns;
  };
  for (const auto& [n, k, m] : {Sizes{1, 1, 1},
                                Sizes{7, 300, 5},
                                Sizes{1000, 100, 37},
                                Sizes{1001, 64, 64},
                                Sizes{9000, 20, 17},
                                Sizes{100, 9001, 16}}) {
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(m);
    const Tensor a = random_tensor({n, k}, 1), b = random_tensor({k, m}, 2);
    const Tensor turned_a = random_tensor({k, n}, 3), turned_b = random_tensor({m, k}, 4);
    for (const Tensor& left : {a, turned_a.t()}) {
      for (const Tensor& right : {b, turned_b.t()}) {
        const Tensor expected = in_double(left).mm(in_double(right));
        const Tensor got = nn::matrix_product(left, right);
        CHECK(got.is_contiguous());
        // As far as the order of sums reaches.
        CHECK((got - expected).abs().max().item<double>() <= 2e-6 * static_cast<double>(k));
        const Tensor onto = torch::ones({n, m});
        nn::add_matrix_product(onto, left, right);
        CHECK((onto - 1 - expected).abs().max().item<double>() <= 2e-6 * static_cast<double>(k));
      }
    }
  }
}

TEST_CASE("a dense linear layer has the gradients of the formula, with a bias and without") {
  for (const std::int64_t rows : {3, 1003}) {
    for (const bool has_bias : {false, true}) {
      const Tensor x = random_tensor({rows, 80}, 5).requires_grad_();
      const Tensor weight = random_tensor({30, 80}, 6).requires_grad_();
      const Tensor bias = has_bias ? random_tensor({30}, 7).requires_grad_() : Tensor();
      const Tensor x64 = in_double(x), weight64 = in_double(weight);
      const Tensor bias64 = has_bias ? in_double(bias) : Tensor();
      const Tensor out = nn::dense_linear(x, weight, bias);
      const Tensor expected = torch::linear(x64, weight64, bias64);
      check_close(out, expected);
      const Tensor grad = random_tensor({rows, 30}, 8);
      out.backward(grad);
      expected.backward(grad.to(torch::kFloat64));
      check_close(x.grad(), x64.grad());
      check_close(weight.grad(), weight64.grad());
      if (has_bias) check_close(bias.grad(), bias64.grad());
    }
  }
}
