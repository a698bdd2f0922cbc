#include "tasks/encoded_rows.h"

#include <doctest/doctest.h>
#include <sluice/error.h>

#include <string>

using namespace sluice;

TEST_CASE("a model gives a row a seed, of the columns asked for, or is refused") {
  Batch batch;
  batch.seeds = {Array::make(DType::kU64, {3}).or_throw(), Array()};
  const torch::Tensor good = torch::zeros({3, 4});
  CHECK(tasks::encoded_rows({good, {}}, batch, 0, 4).is_same(good));
  CHECK(!tasks::encoded_rows({good, {}}, batch, 1, 4).defined());
  CHECK(!tasks::encoded_rows({good}, batch, 1, 4).defined());
  const auto refuses = [&](const Encoding& encoded, const std::string& given) {
    try {
      (void)tasks::encoded_rows(encoded, batch, 0, 4);
      FAIL("nothing was refused");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kUsage);
      CHECK(error.message() ==
            "the model gives " + given + " for the seeds of node type 0, not [3, 4]");
    }
  };
  refuses({}, "nothing");
  refuses({torch::Tensor()}, "nothing");
  refuses({torch::zeros({2, 4})}, "[2, 4]");
  refuses({torch::zeros({6, 4})}, "[6, 4]");
  refuses({torch::zeros({3, 8})}, "[3, 8]");
  refuses({torch::zeros({3})}, "[3]");
}
