// Features stored as f32, f16, bf16 and int8: what the files hold, by the documented layout, and
// that the bytes depend on neither threads nor the input's format.
#include "import_support.h"
#include "prep/check/inspect.h"
#include "prep/check/verify.h"
#include "support/stored_rows.h"

#include <sluice/random.h>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kSeed = 5;
constexpr std::size_t kRows = 400, kDim = 30;
const std::string kEdges = "[[edges]]\nfile = 'e.csv'\n";

struct Stored {
  const char* name;
  DType dtype;
  std::size_t row_bytes;
  std::size_t rows_per_page;
};
constexpr Stored kStored[] = {{"f32", DType::kF32, 120, 34},
                              {"f16", DType::kF16, 60, 68},
                              {"bf16", DType::kBF16, 60, 68},
                              {"int8", DType::kI8, 36, 113}};

std::vector<float> values() {
  std::vector<float> all(kRows * kDim);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>(20 * RandomKey(kSeed).uniform(i) - 10);
  return all;
}

struct Raw : ImportFolder {
  Raw() {
    write("e.csv", "src,dst\n0,1\n1,2\n");
    write("x.npy", npy_rows(kRows, kDim, values()));
    std::string csv;
    for (std::size_t c = 0; c < kDim; ++c) csv += fmt::format("{}c{}", c == 0 ? "" : ",", c);
    const auto all = values();
    for (std::size_t i = 0; i < all.size(); ++i)
      csv += fmt::format("{}{:.17g}", i % kDim == 0 ? "\n" : ",", all[i]);
    write("x.csv", csv + "\n");
  }

  /// The features' file of an import with these keys.
  std::string features(const std::string& file, const std::string& keys) const {
    std::filesystem::remove_all(out());
    run("[[nodes]]\nfeatures = { file = '" + file + "', " + keys + " }\n" + kEdges);
    return read_all(out() / "nodes/node/features.bin");
  }
};

std::string dtype_key(const Stored& stored) {
  return fmt::format("dtype = '{}'", stored.name);
}

}  // namespace

TEST_CASE("import: every dtype stores rows as documented, within its bounds") {
  MESSAGE("seed " << kSeed);
  const Raw raw;
  const auto given = values();
  for (const Stored& stored : kStored) {
    CAPTURE(stored.name);
    const std::string bytes = raw.features("x.npy", dtype_key(stored));
    const std::size_t pages = (kRows + stored.rows_per_page - 1) / stored.rows_per_page;
    REQUIRE(bytes.size() == 4096 * pages);
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto* at = reinterpret_cast<const std::byte*>(bytes.data()) +
                       row / stored.rows_per_page * 4096 +
                       row % stored.rows_per_page * stored.row_bytes;
      float scale = 0;
      if (stored.dtype == DType::kI8) std::memcpy(&scale, at, 4);
      const auto got = stored_values(stored.dtype, at, kDim);
      for (std::size_t c = 0; c < kDim; ++c) {
        const double x = static_cast<double>(given[row * kDim + c]);
        REQUIRE(std::abs(got[c] - x) <= largest_error(stored.dtype, x, static_cast<double>(scale)));
      }
    }
    const Dataset dataset = Dataset::open(raw.out());
    CHECK(dataset.schema().nodes[0].features[0].dtype == stored.dtype);
    const std::string manifest = read_all(raw.out() / "manifest.json");
    CHECK(manifest.find(fmt::format("\"dtype\": \"{}\"", stored.name)) != std::string::npos);
    const bool is_old = stored.dtype == DType::kF32 || stored.dtype == DType::kF16;
    CHECK(manifest.find(fmt::format("\"version\": {}", is_old ? 1 : 2)) != std::string::npos);
  }
}

TEST_CASE("import: features are the same bytes on any number of threads and from any format") {
  Raw raw;
  for (const Stored& stored : kStored) {
    CAPTURE(stored.name);
    raw.threads = 1;
    const std::string reference = raw.features("x.npy", dtype_key(stored));
    for (const int threads : {2, 5}) {
      raw.threads = threads;
      CHECK((raw.features("x.npy", dtype_key(stored)) == reference));
      CHECK((raw.features("x.csv", dtype_key(stored)) == reference));
    }
  }
}

TEST_CASE("import: int8 rounds by its seed, or to nearest") {
  const Raw raw;
  const std::string stochastic = raw.features("x.npy", "dtype = 'int8'");
  CHECK((raw.features("x.npy", "dtype = 'int8', seed = 1") == stochastic));
  CHECK((raw.features("x.npy", "dtype = 'int8', rounding = 'stochastic'") == stochastic));
  CHECK((raw.features("x.npy", "dtype = 'int8', seed = 2") != stochastic));
  const std::string nearest = raw.features("x.npy", "dtype = 'int8', rounding = 'nearest'");
  CHECK((nearest != stochastic));
  CHECK((raw.features("x.npy", "dtype = 'int8', rounding = 'nearest', seed = 2") == nearest));
}

TEST_CASE("inspect and verify say dtype and bytes a row, and verify checks int8's scales") {
  const Raw raw;
  raw.features("x.npy", "dtype = 'int8'");
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  const std::string text = to_text(inspect_dataset(raw.out(), context));
  CHECK(text.find("30 x int8 (16 KiB, 36 B a row, 113 a page)") != std::string::npos);
  const VerifyReport sound = verify_dataset(raw.out(), context);
  CHECK(sound.problems.empty());
  CHECK(sound.schema.nodes.at(0).features.at(0).dtype == DType::kI8);

  // A table whose writer was wrong: right checksums over a scale that is none.
  DatasetWriter writer(raw.dir / "wrong", Overwrite::kRefuse, nullptr);
  writer.schema() = Dataset::open(raw.out()).schema();
  writer.schema().splits.clear();
  for (const char* name : {"offsets.bin", "neighbours.bin"}) {
    auto file = writer.create("edges/node__edge__node/" + std::string(name));
    const std::string bytes = read_all(raw.out() / "edges/node__edge__node" / name);
    file->append(std::as_bytes(std::span(bytes)));
    writer.add(std::move(file));
  }
  std::string bytes = read_all(raw.out() / "nodes/node/features.bin");
  const float wrong = -1.5f;
  std::memcpy(&bytes.at(4096 + 5 * 36), &wrong, sizeof wrong);  // row 113 + 5
  auto file = writer.create("nodes/node/features.bin");
  file->append(std::as_bytes(std::span(bytes)));
  writer.add(std::move(file));
  writer.commit("test");
  const VerifyReport report = verify_dataset(raw.dir / "wrong", context);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0] ==
        (raw.dir / "wrong/nodes/node/features.bin").string() +
            ": the scale of row 118 is -1.5: scales are finite and not negative");
}
