#include "nn/support.h"

#include <sluice/error.h>
#include <sluice/nn/ledger_allocator.h>
#include <sluice/units.h>

#include <string>

using namespace sluice;
using namespace sluice::testing;

TEST_CASE("tensors are charged while they live") {
  const auto ledger = std::make_shared<MemoryLedger>(64 * kMiB, "[memory] host");
  {
    const nn::LedgerAllocation allocation(ledger);
    torch::Tensor tensor = torch::ones({1024, 1024});
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64 == 0);
    CHECK(ledger->used() >= 4 * kMiB);
    CHECK(ledger->used() < 4 * kMiB + 4096);
    CHECK(ledger->entries().at(0).name == "tensors");
    CHECK(allocation.bytes() == ledger->used());
    tensor.resize_({2048, 1024});
    CHECK(ledger->used() >= 8 * kMiB);
    tensor.reset();
    CHECK(ledger->used() == 0);
  }
  const torch::Tensor after = torch::ones({1024});
  CHECK(ledger->used() == 0);
}

TEST_CASE("over the budget an operation throws with the table, and what it held is given back") {
  const auto ledger = std::make_shared<MemoryLedger>(16 * kMiB, "[memory] host");
  const nn::LedgerAllocation allocation(ledger);
  const torch::Tensor x = torch::ones({1024, 1024}).requires_grad_();
  const auto used = ledger->used();
  try {
    torch::Tensor y = x;
    for (int i = 0; i < 10; ++i) y = y.exp();
    FAIL("ten results of 4 MiB in 16 MiB");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(std::string(error.what()).find("tensors") != std::string::npos);
    CHECK(error.hint().find("[memory] host") != std::string::npos);
  }
  CHECK(ledger->used() == used);
}

TEST_CASE("over the budget in the backward is the same error") {
  const auto ledger = std::make_shared<MemoryLedger>(14 * kMiB, "[memory] host");
  const nn::LedgerAllocation allocation(ledger);
  const torch::Tensor x = torch::ones({1024, 1024}).requires_grad_();
  const torch::Tensor loss = x.exp().exp().sum();  // 12 MiB; a gradient wants four more
  CHECK_THROWS_AS(loss.backward(), Error);
}

TEST_CASE("tensors may outlive the scope and everybody else's ledger") {
  auto ledger = std::make_shared<MemoryLedger>();
  const std::weak_ptr<MemoryLedger> watched = ledger;
  torch::Tensor tensor, empty;
  {
    const nn::LedgerAllocation allocation(ledger);
    tensor = torch::ones({1000});
    empty = torch::empty({0});
  }
  ledger.reset();
  CHECK(watched.lock()->used() >= 4000);
  tensor.resize_({2000});  // through the allocator that it was made with
  empty.resize_({10});
  CHECK(tensor[999].item<float>() == 1);
  tensor.reset();
  CHECK_FALSE(watched.expired());
  empty.reset();
  CHECK(watched.expired());
}
