// Feature tables that are stored sparse: what is chosen, what lies on the disk, and that all who
// read it see the numbers that were given; and matrices whose parts are .npy files.
#include "prep/export/export.h"
#include "prep/update/append.h"
#include "roles_folder.h"

#include <sluice/random.h>

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A matrix as csr, with `fullest` entries in its last row and fewer in others; entries of a row
/// ascend.
struct CsrMatrix {
  std::size_t rows, columns;
  std::vector<std::int64_t> indptr{0};
  std::vector<std::uint16_t> indices;
  std::vector<float> values;
  std::vector<float> dense;

  CsrMatrix(std::size_t rows_of, std::size_t columns_of, std::size_t fullest, std::uint64_t seed)
      : rows(rows_of), columns(columns_of), dense(rows_of * columns_of, 0.0f) {
    for (std::size_t r = 0; r < rows; ++r) {
      const RandomKey key = RandomKey(seed).with(r);
      const std::size_t count = r + 1 == rows ? fullest : key.below(fullest, 0);
      const std::size_t step = columns / fullest;
      for (std::size_t e = 0; e < count; ++e) {
        const std::size_t c = e * step + key.with("column").below(step, e);
        const auto value = static_cast<float>(key.with("value").below(99, e)) - 49.5f;
        indices.push_back(static_cast<std::uint16_t>(c));
        values.push_back(value);
        dense[r * columns + c] = value;
      }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
  }

  void write(const RolesFolder& folder, const std::string& name, const char* data) const {
    folder.write(name + "_indptr.npy", npy_ids(indptr));
    folder.write(name + "_indices.npy", npy_of("<u2", indices));
    folder.write(name + "_" + data + ".npy", npy_of("<f4", values));
    folder.write(name + "_shape.npy",
                 npy_ids({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}));
  }
};

std::string csr_toml(const std::string& more = "") {
  return "[[nodes]]\nfeatures = { file = 'x_indptr.npy', format = 'csr'" + more +
         " }\n[[edges]]\nfile = 'e.csv'\n";
}

void append_to(const RolesFolder& folder, const std::string& toml) {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::parse(toml, "append.toml").bind_to(spec);
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  append_to_dataset(
      folder.out(), std::move(spec), formats, folder.dir / "raw", "test append", context);
}

FeatureSchema features_of(const Dataset& dataset) {
  return dataset.schema().nodes.front().features.front();
}

}  // namespace

TEST_CASE("sparse storage: csr parts are stored sparse where that takes less") {
  const std::uint64_t seed = random_seed();
  CAPTURE(seed);
  for (const char* const data : {"values", "data"}) {
    const CsrMatrix made(700, 400, 20, seed);
    RolesFolder folder;
    made.write(folder, "x", data);
    folder.write("e.csv", "src,dst\n0,1\n");
    folder.listen(csr_toml());
    const Dataset dataset = folder.opened();
    CHECK(features_of(dataset).entries == 20);
    CHECK(Manifest::load(folder.out()).or_throw().version == 7);
    CHECK(dataset.features("node", {Placement::kMemory})->row_bytes() == 4 + 40 + 80);
    CHECK(folder.features(700, 400) == made.dense);
    folder.check_sound();

    folder.listen(csr_toml(", storage = 'dense'"));
    CHECK(features_of(folder.opened()).entries == 0);
    CHECK(Manifest::load(folder.out()).or_throw().version == 1);
    CHECK(folder.features(700, 400) == made.dense);
  }
}

TEST_CASE("sparse storage: auto takes dense rows where sparse ones are no smaller") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  const CsrMatrix full(400, 40, 30, 3);  // 4 + 60 + 120 bytes a row, dense 160
  full.write(folder, "x", "values");
  folder.listen(csr_toml());
  CHECK(features_of(folder.opened()).entries == 0);
  CHECK(folder.features(400, 40) == full.dense);
  folder.listen(csr_toml(", storage = 'sparse'"));
  CHECK(features_of(folder.opened()).entries == 30);
  CHECK(folder.features(400, 40) == full.dense);
  folder.check_sound();
  // What is scaled has no zeros to leave out.
  const CsrMatrix thin(700, 400, 20, 4);
  thin.write(folder, "x", "values");
  folder.listen(csr_toml(", scale = 'standard'"));
  CHECK(features_of(folder.opened()).entries == 0);
  folder.listen(csr_toml(", dtype = 'int8'"));
  CHECK(features_of(folder.opened()).entries == 0);
}

TEST_CASE("sparse storage: any file's rows where it is asked for; -0 and rows of zeros come back") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  std::vector<float> x(40 * 90, 0.0f);
  x[3] = -0.0f;
  x[90 + 5] = 2;
  x[90 + 89] = 1e-30f;  // 0 as f16
  folder.write("x.npy", npy_rows(40, 90, x));
  const std::string toml =
      "[[nodes]]\nfeatures = { file = 'x.npy', storage = 'sparse' }\n[[edges]]\nfile = 'e.csv'\n";
  folder.listen(toml);
  CHECK(features_of(folder.opened()).entries == 2);
  const std::vector<float> stored = folder.features(40, 90);
  CHECK(stored == x);
  CHECK(std::signbit(stored[3]));
  folder.listen(
      "[[nodes]]\nfeatures = { file = 'x.npy', storage = 'sparse', dtype = 'f16' }\n"
      "[[edges]]\nfile = 'e.csv'\n");
  CHECK(features_of(folder.opened()).entries == 1);
  folder.check_sound();
  folder.write("x.npy", npy_rows(40, 90, std::vector<float>(40 * 90, 0.0f)));
  folder.listen(toml);
  CHECK(features_of(folder.opened()).entries == 1);
  CHECK(folder.features(40, 90) == std::vector<float>(40 * 90, 0.0f));
}

TEST_CASE("sparse storage: append stores new rows so, with room for fuller ones") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  const CsrMatrix first(700, 400, 20, 5), more(50, 400, 25, 6), fewer(50, 400, 10, 7);
  first.write(folder, "x", "values");
  folder.listen(csr_toml());
  std::vector<float> expected = first.dense;
  std::size_t rows = 700;
  for (const CsrMatrix* added : {&fewer, &more}) {
    added->write(folder, "y", "values");
    append_to(folder, "[[nodes]]\nfeatures = { file = 'y_indptr.npy', format = 'csr' }\n");
    expected.insert(expected.end(), added->dense.begin(), added->dense.end());
    rows += 50;
    CHECK(features_of(folder.opened()).rows == rows);
    CHECK(features_of(folder.opened()).entries == (added == &fewer ? 20 : 25));
    CHECK(folder.features(rows, 400) == expected);
    folder.check_sound();
  }
}

TEST_CASE("sparse storage: what is exported has its zeros") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  const CsrMatrix made(60, 300, 4, 8);
  made.write(folder, "x", "values");
  folder.listen(csr_toml());
  REQUIRE(features_of(folder.opened()).entries == 4);
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  ExportOptions options;
  options.dataset = folder.out();
  options.out = folder.dir / "exported";
  options.format = ExportFormat::kNpy;
  export_dataset(options, context);
  const std::string file = read_all(folder.dir / "exported" / "node.features.npy");
  std::vector<float> values(60 * 300);
  REQUIRE(file.size() > values.size() * sizeof(float));
  std::memcpy(values.data(),
              file.data() + file.size() - values.size() * sizeof(float),
              values.size() * sizeof(float));
  CHECK(values == made.dense);
}

TEST_CASE("sparse storage: what does not fit is said") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  const CsrMatrix made(60, 300, 4, 8);
  made.write(folder, "x", "values");
  CHECK(says(folder.refusal(csr_toml(", storage = 'sparse', dtype = 'int8'")),
             "storage = \"sparse\" and dtype = \"int8\" exclude each other"));
  CHECK(says(folder.refusal(csr_toml(", storage = 'sparse', scale = 'minmax'")),
             "storage = \"sparse\", and scale or missing moves the zeros"));
  CHECK(says(folder.refusal(csr_toml(", columns = ['3']")),
             "x_indptr.npy: is a sparse matrix, which is taken by its rows"));
  CHECK(says(folder.refusal("[[nodes]]\nfeatures = { file = 'x_values.npy', format = 'csr' }\n"
                            "[[edges]]\nfile = 'e.csv'\n"),
             "x_values.npy: a matrix of format csr is named by its pointers"));
  std::vector<std::int64_t> pointers = made.indptr;
  std::swap(pointers[10], pointers[60]);
  folder.write("x_indptr.npy", npy_ids(pointers));
  CHECK(says(folder.refusal(csr_toml()), "x_indptr.npy: is not ascending"));
  pointers = made.indptr;
  pointers.front() = 1;
  folder.write("x_indptr.npy", npy_ids(pointers));
  CHECK(says(folder.refusal(csr_toml()), "x_indptr.npy: does not begin at 0"));
  pointers = made.indptr;
  pointers.pop_back();
  folder.write("x_indptr.npy", npy_ids(pointers));
  CHECK(says(folder.refusal(csr_toml()), "x_indptr.npy: has 60 elements, the matrix asks for 61"));
  made.write(folder, "x", "values");
  std::vector<std::uint16_t> indices = made.indices;
  indices[2] = 300;
  folder.write("x_indices.npy", npy_of("<u2", indices));
  CHECK(says(folder.refusal(csr_toml()),
             "x_indices.npy: entry 2: 300 is not below the 300 columns of the matrix"));
  std::filesystem::remove(folder.dir / "raw" / "x_shape.npy");
  CHECK(says(folder.refusal(csr_toml()), "x_indptr.npy: there is no 'x_shape.npy' beside it"));
}
