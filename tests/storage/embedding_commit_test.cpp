// What a commit promises: it costs what changed, any failure leaves the generation before, and
// damage is found. SLUICE_TEST_SEED=N kills at the moments of an earlier run.
#include "embedding_support.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::test {
namespace {

constexpr std::uint64_t kWorkRows = 200;
constexpr std::uint32_t kWorkDim = 100;
constexpr std::size_t kWorkWindow = 30;

EmbeddingTableOptions work_options(const std::filesystem::path& folder) {
  auto options = table_options(folder, kWorkRows, kWorkDim);
  keep_on_disk(options, 2 * kWorkWindow);
  return options;
}

std::vector<std::uint64_t> work_ids(std::uint64_t generation, std::uint64_t window) {
  return random_ids(RandomKey(generation).with(window), kWorkWindow, kWorkRows);
}
std::vector<float> work_gradients(std::uint64_t generation, std::uint64_t window) {
  return random_gradients(RandomKey(generation).with("g").with(window), kWorkWindow * kWorkDim);
}
constexpr std::uint64_t kWorkWindows = 3;

// What is done between a generation and the next.
void work_on(EmbeddingTable& table, std::uint64_t generation) {
  table.expect(work_ids(generation, 0));
  for (std::uint64_t window = 0; window < kWorkWindows; ++window) {
    if (window + 1 < kWorkWindows) table.expect(work_ids(generation, window + 1));
    table.update(work_ids(generation, window), work_gradients(generation, window), 0.1);
  }
}
void work_on(TwinTable& twin, std::uint64_t generation) {
  for (std::uint64_t window = 0; window < kWorkWindows; ++window)
    twin.update(work_ids(generation, window), work_gradients(generation, window), 0.1);
}

// The twins of generations 1, 2, ..., made as they are asked for.
class Generations {
 public:
  const TwinTable& at(std::uint64_t generation) {
    while (twins_.size() < generation) {
      twins_.push_back(twins_.empty() ? TwinTable(work_options("")) : twins_.back());
      work_on(twins_.back(), twins_.size());
    }
    return twins_[generation - 1];
  }

 private:
  std::vector<TwinTable> twins_;
};

std::uint64_t newest(const std::filesystem::path& folder) {
  const auto generations = embedding_generations(folder);
  return generations.empty() ? 0 : generations.back();
}

void keep_last_two(EmbeddingTable& table, std::uint64_t generation) {
  const std::uint64_t last[] = {generation - 1, generation};
  table.keep(std::span(last).subspan(generation == 1 ? 1 : 0));
}

}  // namespace

TEST_CASE("a commit writes in proportion to the rows that changed") {
  const TempDir dir;
  for (const bool on_disk : {true, false}) {
    CAPTURE(on_disk);
    auto options = table_options(dir / (on_disk ? "d" : "m"), 50'000, 20);
    if (on_disk) keep_on_disk(options, 50'000);
    const auto table = create_embedding_table(options);
    std::vector<std::uint64_t> all(options.rows);
    for (std::uint64_t row = 0; row < options.rows; ++row) all[row] = row;
    table->expect(all);
    const auto gradients = random_gradients(RandomKey(1), options.rows * 20);
    const RowLayout layout = layout_of(options);
    const auto committed = [&](std::uint64_t first, std::uint64_t count) {
      const std::uint64_t before = table->stats().bytes_written;
      table->update(
          std::span(all).subspan(first, count), std::span(gradients).first(count * 20), 0.1);
      keep_last_two(*table, table->commit());
      return table->stats().bytes_written - before;
    };
    // Its manifest has a byte a group and four a page, and is written whole.
    const std::uint64_t manifest = 5 * layout.pages() + 4096;
    for (const std::uint64_t percent : {100u, 10u, 1u}) {
      CAPTURE(percent);
      const std::uint64_t bytes =
          committed(500, options.rows / 100 * percent - (percent == 100 ? 500u : 0u));
      const std::uint64_t changed = layout.bytes() / 100 * percent;
      CHECK(bytes <= changed + std::uint64_t{2} * layout.group_bytes + manifest);
      CHECK(bytes >= changed - (percent == 100 ? layout.bytes() / 100 : 0));
    }
    CHECK(committed(0, 0) <= manifest);
    // A row here and there: a group each.
    std::vector<std::uint64_t> few;
    for (std::uint64_t row = 0; row < options.rows; row += 5000) few.push_back(row);
    const std::uint64_t before = table->stats().bytes_written;
    table->update(few, std::span(gradients).first(few.size() * 20), 0.1);
    table->commit();
    CHECK(table->stats().bytes_written - before <= few.size() * layout.group_bytes + manifest);
  }
}

TEST_CASE("generations that are kept stay as they were, others give their room to later ones") {
  const TempDir dir;
  Generations twins;
  const auto options = work_options(dir / "t");
  {
    const auto table = create_embedding_table(options);
    std::uint64_t disk = 0;
    for (std::uint64_t generation = 1; generation <= 12; ++generation) {
      work_on(*table, generation);
      CHECK(table->commit() == generation);
      const std::vector<std::uint64_t> kept = generation < 3
                                                  ? std::vector<std::uint64_t>{generation}
                                                  : std::vector<std::uint64_t>{2, generation};
      table->keep(kept);
      CHECK(embedding_generations(options.folder) == kept);
      for (const auto& entry : std::filesystem::directory_iterator(options.folder))
        if (entry.path().filename().string().starts_with("side-")) ++disk;
    }
    CHECK(disk <= 12 * 3);  // two generations and what is written now: three sides
  }
  CHECK(first_difference(options, twins.at(2), 2) == -1);
  CHECK(first_difference(options, twins.at(12), 12) == -1);
  CHECK(first_difference(options, twins.at(12)) == -1);
}

TEST_CASE("seven generations may be kept; one more is refused with what to do") {
  const TempDir dir;
  const auto options = work_options(dir / "t");
  const auto table = create_embedding_table(options);
  const Error error = expect_error([&] {
    for (std::uint64_t generation = 1; generation < 20; ++generation) {
      const std::vector<std::uint64_t> same{1, 2, 3};
      table->expect(same);
      table->update(same, random_gradients(RandomKey(generation), std::size_t{3} * kWorkDim), 0.1);
      table->commit();
    }
  });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.hint().find("keep()") != std::string::npos);
  CHECK(embedding_generations(options.folder).size() == 7);
  // The table is as it was.
  const std::uint64_t last[] = {7};
  table->keep(last);
  CHECK(table->commit() == 8);
  const std::uint64_t missing[] = {99};
  const auto other = create_embedding_table(work_options(dir / "u"));
  CHECK(expect_error([&] { other->keep(missing); }).code() == ErrorCode::kUsage);
}

TEST_CASE(
    "EIO, no space, a torn write or a kill at any write: one clear error, the last commit usable") {
  Generations twins;
  for (const EngineFactory& factory : plain_factories()) {
    // Every write by one engine, some by the others.
    const std::uint64_t step = factory.name == "pread" ? sanitized(1, 5) : sanitized(7, 11);
    for (const WriteFault fault :
         {WriteFault::kEio, WriteFault::kEnospc, WriteFault::kTorn, WriteFault::kKill}) {
      bool failed = true;
      std::uint64_t at = 0;
      for (; failed; at += step) {
        INFO(factory.name);
        CAPTURE(static_cast<int>(fault));
        CAPTURE(at);
        const TempDir dir;
        const auto options = work_options(dir / "t");
        FaultPlan plan;
        plan.write_fault = fault;
        plan.from_write = at;
        std::uint64_t committed = 0;
        {
          const auto table = create_embedding_table(
              options, [&] { return make_fault_engine(factory.make(), plan); });
          failed = false;
          try {
            for (std::uint64_t generation = 1; generation <= 2; ++generation) {
              work_on(*table, generation);
              committed = table->commit();
            }
          } catch (const Error& error) {
            failed = true;
            CHECK(error.code() ==
                  (fault == WriteFault::kEnospc ? ErrorCode::kResource : ErrorCode::kIo));
            CHECK(error.place().file.find("side-") != std::string::npos);
            CHECK_FALSE(error.hint().empty());
            // And again, whatever is asked for.
            const auto ids = work_ids(1, 0);
            CHECK(std::string(expect_error([&] { table->expect(ids); }).what()) == error.what());
            CHECK(std::string(expect_error([&] { table->commit(); }).what()) == error.what());
          }
        }
        CHECK(newest(options.folder) == committed);
        if (committed > 0) CHECK(first_difference(options, twins.at(committed)) == -1);
      }
      CHECK(at >= 10);
    }
  }
}

TEST_CASE("a disk without room, for rows or for the list of a generation, leaves the one before") {
  Generations twins;
  const TempDir dir;
  const auto options = work_options(dir / "t");
  {
    const auto table = create_embedding_table(options);
    work_on(*table, 1);
    table->commit();
    const FileSizeLimit limit(512);  // nothing is dirty: the list alone is written
    CHECK(expect_error([&] { table->commit(); }).code() == ErrorCode::kResource);
  }
  CHECK(newest(options.folder) == 1);
  {
    const auto table = open_embedding_table(options);
    work_on(*table, 2);
    table->stats();  // waits
    const FileSizeLimit limit(kPageBytes);
    CHECK(expect_error([&] { table->commit(); }).code() == ErrorCode::kResource);
  }
  CHECK(newest(options.folder) == 1);
  CHECK(first_difference(options, twins.at(1)) == -1);
}

TEST_CASE("a kill at any moment leaves the last generation that was committed, and a run goes on") {
  const char* text = std::getenv("SLUICE_TEST_SEED");
  const std::uint64_t seed =
      text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  CAPTURE(seed);
  Generations twins;
  const TempDir dir;
  const auto options = work_options(dir / "t");
  // Moments are drawn from twice what a generation takes here, and later ones where a child was
  // slower than that.
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto table = create_embedding_table(work_options(dir / "timed"));
    work_on(*table, 1);
    table->commit();
  }
  std::chrono::microseconds longest = 2 * std::chrono::duration_cast<std::chrono::microseconds>(
                                              std::chrono::steady_clock::now() - begin);
  const std::uint64_t rounds = sanitized(55, 10);
  std::uint64_t killed_with_work = 0;
  for (std::uint64_t round = 0; round < rounds || (killed_with_work == 0 && round < 4 * rounds);
       ++round) {
    CAPTURE(round);
    const std::uint64_t before = newest(options.folder);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        const auto table =
            before == 0 ? create_embedding_table(options) : open_embedding_table(options);
        for (std::uint64_t generation = before + 1;; ++generation) {
          work_on(*table, generation);
          if (table->commit() != generation) ::_exit(3);
          keep_last_two(*table, generation);
        }
      } catch (...) {
        ::_exit(2);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(
        RandomKey(seed).below(static_cast<std::uint64_t>(longest.count()), round)));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const std::uint64_t now = newest(options.folder);
    CHECK(now >= before);
    killed_with_work += now > before;
    if (now == before) longest += longest / 8;
    for (const std::uint64_t generation : embedding_generations(options.folder))
      REQUIRE(first_difference(options, twins.at(generation), generation) == -1);
  }
  CHECK(killed_with_work > 0);
}

TEST_CASE("what no generation names is removed when a table is opened") {
  const TempDir dir;
  const auto options = work_options(dir / "t");
  {
    const auto table = create_embedding_table(options);
    work_on(*table, 1);
    table->commit();
    work_on(*table, 2);  // to another side, which is not committed
  }
  const auto has_side = [&](int side) {
    return std::filesystem::exists(options.folder / ("side-" + std::to_string(side) + ".rows"));
  };
  CHECK(has_side(1));
  dir.write("t/.rows-000002.ckpt.partial", "half");
  dir.write("t/notes.txt", "not ours");
  { const auto table = open_embedding_table(options); }
  CHECK(has_side(0));
  CHECK_FALSE(has_side(1));
  CHECK_FALSE(std::filesystem::exists(options.folder / ".rows-000002.ckpt.partial"));
  CHECK(std::filesystem::exists(options.folder / "notes.txt"));
}

TEST_CASE("flipped bits are found by the page's checksum, and named") {
  const TempDir dir;
  const auto options = work_options(dir / "t");
  {
    const auto table = create_embedding_table(options);
    std::vector<std::uint64_t> all(kWorkRows / 8);
    for (std::uint64_t first = 0; first < kWorkRows; first += all.size()) {
      for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = first + i;
      table->expect(all);
      table->update(all, random_gradients(RandomKey(first), all.size() * kWorkDim), 0.1);
    }
    table->commit();
  }
  const auto side = options.folder / "side-0.rows";
  const RandomKey key(9);
  const std::uint64_t bytes = layout_of(options).bytes();
  for (std::uint64_t flip = 0; flip < 40; ++flip) {
    CAPTURE(flip);
    const std::uint64_t at = key.below(bytes, 2 * flip);
    const auto turn = [&] {
      File file = File::open_update(side).or_throw();
      std::byte byte{};
      file.read_at(at, {&byte, 1}).or_throw();
      byte ^= std::byte{1} << key.below(8, 2 * flip + 1);
      file.write_at(at, {&byte, 1}).or_throw();
    };
    turn();
    auto table = open_embedding_table(options);
    std::vector<float> values(kWorkRows * kWorkDim);
    const Error error = expect_error([&] { table->read(0, values); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().file == side.string());
    CHECK(static_cast<std::uint64_t>(error.place().offset) == at / kPageBytes * kPageBytes);
    table.reset();
    turn();
  }
  const auto table = open_embedding_table(options);
  std::vector<float> values(kWorkRows * kWorkDim);
  table->read(0, values);
}

TEST_CASE("a damaged or missing generation, and another table's options, are refused by name") {
  const TempDir dir;
  const auto options = work_options(dir / "t");
  {
    const auto table = create_embedding_table(options);
    work_on(*table, 1);
    table->commit();
    CHECK(expect_error([&] { open_embedding_table(options); }).message().find("another process") !=
          std::string::npos);
  }
  CHECK(expect_error([&] { create_embedding_table(options); }).code() == ErrorCode::kUsage);
  CHECK(expect_error([&] { open_embedding_table(options, 7); }).code() == ErrorCode::kData);
  CHECK(expect_error([&] { open_embedding_table(work_options(dir / "no")); }).code() ==
        ErrorCode::kData);
  const auto refused = [&](auto change) {
    auto other = options;
    change(other);
    return expect_error([&] { open_embedding_table(other); }).code() == ErrorCode::kUsage;
  };
  CHECK(refused([](auto& other) { other.dim = 50; }));
  CHECK(refused([](auto& other) { other.rows = kWorkRows - 1; }));
  CHECK(refused([](auto& other) { other.initial.seed = 4; }));
  CHECK(
      refused([](auto& other) { other.optimizer = builtin_sparse_optimizers().make("adam", ""); }));

  const auto manifest = options.folder / "rows-000001.ckpt";
  const auto bytes = read_all(manifest);
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 30 + 1) {
    CAPTURE(at);
    auto flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    dir.write("t/rows-000001.ckpt", flipped);
    const Error error = expect_error([&] { open_embedding_table(options); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().file == manifest.string());
  }
  dir.write("t/rows-000001.ckpt", bytes);
  std::filesystem::remove(options.folder / "side-0.rows");
  CHECK(expect_error([&] { open_embedding_table(options); }).code() == ErrorCode::kData);
}

TEST_CASE("a generation that is damaged leaves the others usable, and says which one is whole") {
  Generations twins;
  for (const std::uint64_t damaged : {1u, 2u}) {
    CAPTURE(damaged);
    const std::uint64_t whole = 3 - damaged;
    const TempDir dir;
    const auto options = work_options(dir / "t");
    {
      const auto table = create_embedding_table(options);
      for (std::uint64_t generation = 1; generation <= 2; ++generation) {
        work_on(*table, generation);
        CHECK(table->commit() == generation);
      }
    }
    const std::string name = "rows-00000" + std::to_string(damaged) + ".ckpt";
    std::string bytes = read_all(options.folder / name);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    dir.write("t/" + name, bytes);

    const Error error = expect_error([&] { open_embedding_table(options, damaged); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().file == (options.folder / name).string());
    CHECK(error.hint().find("generation " + std::to_string(whole)) != std::string::npos);
    CHECK(first_difference(options, twins.at(whole), whole) == -1);
    {
      const auto table = open_embedding_table(options, whole);
      work_on(*table, whole + 1);
      CHECK(table->commit() == 3);  // never a number that was there
      const std::uint64_t all[] = {1, 2, 3};
      table->keep(all);
      CHECK(embedding_generations(options.folder).size() == 3);
      const std::uint64_t kept[] = {whole, 3};
      table->keep(kept);
    }
    CHECK(embedding_generations(options.folder) == std::vector<std::uint64_t>{whole, 3});
    CHECK(first_difference(options, twins.at(whole), whole) == -1);
    CHECK(first_difference(options, twins.at(whole + 1), 3) == -1);
  }
}

TEST_CASE(
    "lists that do not fit their table, in length or type, are refused before they are used") {
  const TempDir dir;
  const RowLayout layout = RowLayout::make(100, 8, 0);
  const auto list = [](DType dtype, std::uint64_t size) {
    Array made = Array::make(dtype, {static_cast<std::int64_t>(size)}, nullptr, "test").or_throw();
    std::ranges::fill(made.raw(), std::byte{0});
    return made;
  };
  const auto refused = [&](Array sides, Array sums) {
    TableManifest manifest{1, layout, "sgd", "zero", std::move(sides), std::move(sums)};
    write_manifest(dir.path(), manifest);
    const Error error = expect_error([&] { (void)read_manifest(dir.path(), 1, nullptr); });
    return error.code() == ErrorCode::kData &&
           error.message().find("page lists") != std::string::npos;
  };
  const std::uint64_t groups = layout.groups(), pages = layout.pages();
  CHECK(refused(list(DType::kU8, groups + 1), list(DType::kU32, pages)));
  CHECK(refused(list(DType::kU8, groups), list(DType::kU32, pages + 1)));
  CHECK(refused(list(DType::kF32, groups), list(DType::kU32, pages)));
  CHECK(refused(list(DType::kU8, groups), list(DType::kU8, pages)));
  CHECK_FALSE(embedding_generations(dir.path()).empty());
  write_manifest(dir.path(),
                 {2, layout, "sgd", "zero", list(DType::kU8, groups), list(DType::kU32, pages)});
  CHECK(read_manifest(dir.path(), 2, nullptr).layout.rows == 100);
  CHECK(newest_readable(dir.path(), 0, nullptr) == 2);
  CHECK(newest_readable(dir.path(), 2, nullptr) == 0);
}

TEST_CASE("after more rows were added old ones stay, and new ones are what they are by number") {
  for (const std::uint64_t more : {kWorkRows, kWorkRows + 1, kWorkRows + 333}) {
    const TempDir dir;
    auto options = work_options(dir / "t");
    TwinTable twin(options);
    {
      const auto table = create_embedding_table(options);
      work_on(*table, 1);
      work_on(twin, 1);
      table->commit();
    }
    options.rows = more;
    twin.grow(more);
    {
      const auto table = open_embedding_table(options);
      CHECK(table->rows() == more);
      const std::vector<std::uint64_t> ids{0, more - 1, kWorkRows - 1};
      const auto gradients = random_gradients(RandomKey(4), std::size_t{3} * kWorkDim);
      table->expect(ids);
      table->update(ids, gradients, 0.1);
      twin.update(ids, gradients, 0.1);
      table->commit();
    }
    CHECK(first_difference(options, twin) == -1);
  }
}

}  // namespace sluice::test
