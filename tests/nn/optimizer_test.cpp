// Optimisers against LibTorch's own, and their state across a save and a load.
#include "nn/optim/adagrad.h"
#include "nn/optim/adam.h"
#include "nn/optim/sgd.h"

#include "nn/support.h"
#include "support/catalog_names.h"

#include <sluice/error.h>
#include <sluice/train.h>

#include <memory>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

/// A small model: parameters "a" [3, 4] and "b" [4], and one that never gets a gradient.
struct Problem {
  Tensor a = random_tensor({3, 4}, 1).requires_grad_();
  Tensor b = random_tensor({4}, 2).requires_grad_();
  Tensor unused = random_tensor({2}, 3).requires_grad_();

  OptimizerContext context() const { return {{{"a", a}, {"b", b}, {"unused", unused}}}; }
  void backward(std::int64_t step) const {
    const Tensor x = random_tensor({5, 3}, 100 + static_cast<std::uint64_t>(step));
    (x.mm(a) + b).square().sum().backward();
  }
};

template <class Own, class Reference>
void check_against(const typename Own::Options& options, Reference make_reference) {
  const Problem ours, theirs;
  Own own(options, ours.context());
  auto reference = make_reference(std::vector<Tensor>{theirs.a, theirs.b, theirs.unused});
  for (std::int64_t step = 0; step < 20; ++step) {
    own.zero_grad();
    reference->zero_grad();
    ours.backward(step);
    theirs.backward(step);
    own.step();
    reference->step();
  }
  check_close(ours.a, theirs.a.to(torch::kFloat64));
  check_close(ours.b, theirs.b.to(torch::kFloat64));
  CHECK(torch::equal(ours.unused, theirs.unused));
}

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors copied;
  for (const auto& [name, tensor] : tensors) copied[name] = tensor.detach().clone();
  return copied;
}

/// Ten steps are five steps, a save into fresh objects, and five more; bit for bit.
void check_resumes(const Selection& selection) {
  const auto make = [&](const Problem& problem) {
    return builtin_optimizers().create(selection, problem.context());
  };
  const auto run =
      [](Optimizer& optimizer, const Problem& problem, std::int64_t from, std::int64_t to) {
        for (std::int64_t step = from; step < to; ++step) {
          optimizer.zero_grad();
          problem.backward(step);
          optimizer.step();
        }
      };
  const Problem whole, first, second;
  const auto all = make(whole), before = make(first);
  run(*all, whole, 0, 10);
  run(*before, first, 0, 5);
  {
    const torch::NoGradGuard no_grad;
    second.a.copy_(first.a);
    second.b.copy_(first.b);
  }
  const auto after = make(second);
  after->load_state(copies(before->named_state()));
  run(*after, second, 5, 10);
  CHECK(torch::equal(whole.a, second.a));
  CHECK(torch::equal(whole.b, second.b));
  CHECK_FALSE(torch::equal(whole.a, Problem().a));
  for (const auto& [name, tensor] : all->named_state()) {
    INFO(name);
    CHECK(torch::equal(tensor, after->named_state().at(name)));
  }
}

}  // namespace

TEST_CASE("Adam and AdamW step as LibTorch's") {
  for (const double decay : {0.0, 0.1}) {
    nn::AdamOptions options;
    options.lr = 0.01;
    options.weight_decay = decay;
    check_against<nn::Adam>(options, [decay](std::vector<Tensor> parameters) {
      return std::make_unique<torch::optim::Adam>(
          parameters, torch::optim::AdamOptions(0.01).weight_decay(decay));
    });
    nn::AdamW::Options decoupled;
    decoupled.lr = 0.01;
    decoupled.weight_decay = decay;
    check_against<nn::AdamW>(decoupled, [decay](std::vector<Tensor> parameters) {
      return std::make_unique<torch::optim::AdamW>(
          parameters, torch::optim::AdamWOptions(0.01).weight_decay(decay));
    });
  }
}

TEST_CASE("Adagrad steps as LibTorch's") {
  for (const double decay : {0.0, 0.1}) {
    nn::Adagrad::Options options;
    options.lr = 0.2;
    options.weight_decay = decay;
    check_against<nn::Adagrad>(options, [decay](std::vector<Tensor> parameters) {
      return std::make_unique<torch::optim::Adagrad>(
          parameters, torch::optim::AdagradOptions(0.2).weight_decay(decay));
    });
  }
}

TEST_CASE("SGD steps as LibTorch's") {
  for (const bool nesterov : {false, true}) {
    for (const double momentum : {0.0, 0.9}) {
      if (nesterov && momentum == 0) continue;
      check_against<nn::Sgd>({0.001, momentum, nesterov, 0.1}, [&](std::vector<Tensor> parameters) {
        return std::make_unique<torch::optim::SGD>(
            parameters,
            torch::optim::SGDOptions(0.001).momentum(momentum).nesterov(nesterov).weight_decay(
                0.1));
      });
    }
  }
  CHECK_THROWS_AS(nn::Sgd({0.1, 0, true, 0}, Problem().context()), Error);
}

TEST_CASE("a loaded state goes on bit for bit") {
  for (const std::string& name : test::names_of(builtin_optimizers())) {
    INFO(name);
    check_resumes({name, nullptr});
  }
  const OptimizerCatalog catalog = builtin_optimizers();
  Selection with_momentum;
  Schema schema;
  schema.selection("optimizer", with_momentum, catalog);
  Config::parse("optimizer = { type = 'sgd', lr = 0.001, momentum = 0.9, nesterov = true }", "toml")
      .bind(schema);
  check_resumes(with_momentum);
}

TEST_CASE("a state of another model is refused and changes nothing") {
  const Problem problem;
  nn::Adam optimizer({}, problem.context());
  problem.backward(0);
  optimizer.step();
  const NamedTensors good = copies(optimizer.named_state());
  CHECK(good.size() == 7);  // step, and two for each of three parameters

  NamedTensors missing = good, foreign = good, reshaped = good;
  missing.erase("a/mean");
  foreign["c/mean"] = torch::zeros({1});
  reshaped["a/mean"] = torch::zeros({4, 3});
  CHECK_THROWS_WITH_AS(optimizer.load_state(missing), "the optimizer state has no 'a/mean'", Error);
  CHECK_THROWS_WITH_AS(optimizer.load_state(foreign),
                       "the optimizer state 'c/mean' belongs to no parameter here",
                       Error);
  CHECK_THROWS_WITH_AS(optimizer.load_state(reshaped),
                       "the optimizer state 'a/mean' is [4, 3] Float, expected [3, 4] Float",
                       Error);
  for (const auto& [name, tensor] : optimizer.named_state()) {
    CHECK(torch::equal(tensor, good.at(name)));
  }
}
