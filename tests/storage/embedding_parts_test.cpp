// What embedding tables are made of: layout, first values, coalesced ids, optimizers by name.
#include "embedding_support.h"
#include "support/expect_error.h"

#include "core/threads.h"

#include <cmath>

namespace sluice::test {

TEST_CASE("groups are whole pages, filled to seven eighths, and hold whole rows") {
  for (std::uint32_t floats = 1; floats < 6000; floats += floats < 50 ? 1 : 37) {
    CAPTURE(floats);
    const RowLayout layout = RowLayout::make(1000, floats, 0);
    CHECK(layout.group_bytes % kPageBytes == 0);
    CHECK(layout.rows_per_group >= 1);
    const std::uint64_t used = layout.rows_per_group * layout.row_bytes();
    CHECK(used <= layout.group_bytes);
    CHECK(used * 8 >= std::uint64_t{layout.group_bytes} * 7);
    CHECK(layout.groups() * layout.rows_per_group >= 1000);
    CHECK((layout.groups() - 1) * layout.rows_per_group < 1000);
    CHECK(layout.offset_in_group(999) + layout.row_bytes() <= layout.group_bytes);
  }
  CHECK(RowLayout::make(1000, 100, 100).group_bytes == kPageBytes);
  CHECK(RowLayout::make(1000, 1000, 1000).group_bytes == 2 * kPageBytes);
}

TEST_CASE("first values are a function of seed, row and column, and are what they are called") {
  constexpr std::uint32_t kDim = 64;
  constexpr std::uint64_t kRows = 2000;
  const auto all = [&](InitialRows::Kind kind, std::uint64_t seed) {
    std::vector<float> values(kRows * kDim);
    InitialValues({kind, 0.25, seed}).fill(0, kRows, kDim, values.data(), kDim);
    return values;
  };
  for (const auto kind : {InitialRows::Kind::kUniform, InitialRows::Kind::kNormal}) {
    const auto values = all(kind, 1);
    double sum = 0, squares = 0, most = 0;
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
      most = std::max(most, std::abs(double{value}));
    }
    const auto count = static_cast<double>(values.size());
    const double deviation = std::sqrt(squares / count);
    const bool uniform = kind == InitialRows::Kind::kUniform;
    const double expected = uniform ? 0.25 / std::sqrt(3.0) : 0.25;
    CHECK(std::abs(sum / count) < 5 * expected / std::sqrt(count));
    CHECK(deviation == doctest::Approx(expected).epsilon(0.02));
    CHECK(most <= (uniform ? 0.25 : 4.9 * 0.25));
    CHECK(all(kind, 1) == values);
    CHECK(all(kind, 2) != values);
    // Any rows, at any stride, by themselves.
    std::vector<float> some(3 * 100, -1.0f);
    InitialValues({kind, 0.25, 1}).fill(77, 3, kDim, some.data(), 100);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(same_bits(std::span(some).subspan(i * 100, kDim),
                      std::span(values).subspan((77 + i) * kDim, kDim)));
      CHECK(some[i * 100 + kDim] == -1.0f);
    }
  }
  CHECK(all(InitialRows::Kind::kZero, 1) == std::vector<float>(kRows * kDim));
}

TEST_CASE("first values may be vectors of a reader's, which must be given, and the same again") {
  const TempDir dir;
  auto options = table_options(dir / "t", 1000, 8);
  options.initial.kind = InitialRows::Kind::kReader;
  CHECK(expect_error([&] { create_embedding_table(options); }).code() == ErrorCode::kInternal);
  options.initial.source = "vectors.npy";
  options.initial.reader = [](std::span<const std::uint64_t> rows, std::span<float> out) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t c = 0; c < 8; ++c) out[i * 8 + c] = static_cast<float>(rows[i] * 10 + c);
  };
  TwinTable twin(options);
  keep_on_disk(options, 50);
  {
    const auto table = create_embedding_table(options);
    const std::vector<std::uint64_t> ids{999, 3, 500};
    table->expect(ids);
    std::vector<float> values(3 * 8);
    table->gather(ids, values);
    CHECK(values[0] == 9990.0f);
    CHECK(values[9] == 31.0f);
    const auto gradients = random_gradients(RandomKey(1), 24);
    table->update(ids, gradients, 0.1);
    twin.update(ids, gradients, 0.1);
    table->commit();
  }
  CHECK(first_difference(options, twin) == -1);
  options.initial.source = "others.npy";
  CHECK(expect_error([&] { open_embedding_table(options); }).code() == ErrorCode::kUsage);
}

TEST_CASE("coalesced ids list the positions of each id, in the order of the batch") {
  CoalescedIds coalesced;
  for (const std::size_t count : {0u, 1u, 7u, 5000u}) {
    const auto ids = random_ids(RandomKey(count), count, count / 3 + 1);
    coalesced.assign(ids);
    const kernels::RowLists lists = coalesced.lists();
    CHECK(lists.num_items() == static_cast<std::int64_t>(count));
    std::map<std::uint64_t, std::vector<std::int32_t>> expected;
    for (std::size_t i = 0; i < count; ++i)
      expected[ids[i]].push_back(static_cast<std::int32_t>(i));
    REQUIRE(coalesced.distinct().size() == expected.size());
    std::size_t at = 0;
    for (const auto& [id, positions] : expected) {
      CHECK(coalesced.distinct()[at] == id);
      CHECK(std::ranges::equal(
          std::span(lists.items + lists.offsets[at], lists.items + lists.offsets[at + 1]),
          positions));
      ++at;
    }
  }
}

TEST_CASE("an update gives the same bits for any number of threads") {
  const auto run = [](int threads) {
    auto options = table_options("", 500, 100, "adam");
    ThreadArena arena(threads);
    options.executor.threads = &arena;
    const auto table = create_embedding_table(options);
    const auto ids = random_ids(RandomKey(5), 3000, 500);
    table->expect(ids);
    for (std::uint64_t step = 0; step < 3; ++step)
      table->update(ids, random_gradients(RandomKey(step), 3000 * 100), 0.1);
    std::vector<float> values(3000 * 100);
    table->gather(ids, values);
    return values;
  };
  const auto expected = run(1);
  for (const int threads : {2, 3, 7}) CHECK(same_bits(run(threads), expected));
}

TEST_CASE("sparse optimizers go by name, with options that are checked") {
  const auto all = builtin_sparse_optimizers();
  const std::map<std::string, std::uint32_t> widths{
      {"adagrad", 10}, {"adagrad_row", 1}, {"adam", 21}, {"sgd", 0}};
  CHECK(all.list().size() == widths.size());
  for (const auto& entry : all.list()) {
    const auto optimizer = all.make(entry.name, "lr = 0.25");
    CHECK(optimizer->name() == entry.name);
    CHECK(optimizer->state_width(10) == widths.at(entry.name));
    CHECK(optimizer->learning_rate() == 0.25);
    // A step against the gradient, at the rate that is asked for.
    std::vector<float> row(40);
    float* at = row.data();
    const std::vector<float> gradient(10, 2.0f);
    optimizer->update({}, {&at, gradient.data(), 1, 10}, 0.5);
    CHECK(row[0] == doctest::Approx(entry.name == "sgd" ? -1.0 : -0.5));
    CHECK(row[9] == row[0]);
  }
  CHECK(expect_error([&] { all.make("adagard", ""); }).code() == ErrorCode::kUsage);
  CHECK(expect_error([&] { all.make("adam", "beta1 = 1.5"); }).code() == ErrorCode::kUsage);
  CHECK(expect_error([&] { all.make("sgd", "epsilon = 1"); }).code() == ErrorCode::kUsage);
}

}  // namespace sluice::test
