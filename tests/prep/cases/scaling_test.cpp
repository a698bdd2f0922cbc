// Columns of features on one scale, and values that are missing: against brute force, over training
// rows, for any threads and memory; kept with the table, shown, and used again by append.
#include "prep/check/inspect.h"
#include "prep/update/append.h"
#include "roles_folder.h"

#include <sluice/random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();

struct Brute {
  double shift = 0, divisor = 1, mean = 0;
};

/// NumPy's percentile, linear between two values.
double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

Brute brute_force(std::vector<double> values, const std::string& scale) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  Brute made;
  const auto count = static_cast<double>(values.size());
  made.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (scale == "standard") {
    made.shift = made.mean;
    double sum = 0;
    for (const double value : values) sum += (value - made.mean) * (value - made.mean);
    made.divisor = std::sqrt(sum / count);
  } else if (scale == "minmax") {
    made.shift = values.front();
    made.divisor = values.back() - values.front();
  } else if (scale == "robust") {
    made.shift = percentile(values, 0.5);
    made.divisor = percentile(values, 0.75) - percentile(values, 0.25);
  }
  if (made.divisor == 0) made.divisor = 1;
  return made;
}

struct Columns {
  std::size_t rows = 0;
  std::vector<std::vector<double>> values;  // by column; holes are missing
};

Columns made_columns(std::uint64_t seed, std::size_t rows) {
  Columns made{rows, {{}, {}, {}, {}}};
  for (std::size_t row = 0; row < rows; ++row) {
    const RandomKey key = RandomKey(seed).with(row);
    made.values[0].push_back(20 + 40 * key.uniform(0));
    made.values[1].push_back(key.below(10, 1) == 0 ? kHole : 1e6 * (key.uniform(2) - 0.5));
    made.values[2].push_back(static_cast<double>(key.below(3, 3)) - 1);  // many are equal
    made.values[3].push_back(7.25);                                      // all are
  }
  return made;
}

std::string csv_text(const Columns& columns) {
  std::string text = "age,income,mood,same\n";
  for (std::size_t row = 0; row < columns.rows; ++row) {
    for (std::size_t c = 0; c < columns.values.size(); ++c) {
      const double value = columns.values[c][row];
      text += (c == 0 ? "" : ",") + (std::isnan(value) ? std::string() : fmt::format("{}", value));
    }
    text += '\n';
  }
  return text;
}

/// Rows as they must be stored. @param counts which rows statistics are of
std::vector<float> expected_rows(const Columns& columns,
                                 const std::string& scale,
                                 const std::string& missing,
                                 const std::vector<bool>& counts) {
  std::vector<float> rows(columns.rows * columns.values.size());
  for (std::size_t c = 0; c < columns.values.size(); ++c) {
    std::vector<double> counted;
    for (std::size_t row = 0; row < columns.rows; ++row)
      if (counts[row]) counted.push_back(columns.values[c][row]);
    const Brute brute = brute_force(counted, scale);
    for (std::size_t row = 0; row < columns.rows; ++row) {
      double value = columns.values[c][row];
      if (std::isnan(value)) value = missing == "mean" ? brute.mean : 0;
      rows[row * columns.values.size() + c] =
          static_cast<float>((value - brute.shift) / brute.divisor);
    }
  }
  return rows;
}

void check_close(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - expected[i]) <= 1e-6f * (1 + std::abs(expected[i])))) ++wrong;
  CHECK(wrong == 0);
}

std::string scaled_toml(const std::string& features, const std::string& more = "") {
  return "[[nodes]]\nfeatures = { " + features + " }\n[[edges]]\nfile = 'e.csv'\n" + more;
}

const FeatureScaling& scaling_of(const Dataset& dataset) {
  return *dataset.schema().node_type("node")->features.front().scaling;
}

}  // namespace

TEST_CASE("scaling: each way is what brute force makes of all rows, holes filled") {
  const std::uint64_t seed = random_seed();
  CAPTURE(seed);
  for (const std::size_t rows :
       {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{4001}}) {
    const Columns columns = made_columns(seed, rows);
    RolesFolder folder;
    folder.write("e.csv", "src,dst\n0,0\n");
    folder.write("x.csv", csv_text(columns));
    for (const std::string scale : {"none", "standard", "minmax", "robust"}) {
      for (const std::string missing : {"mean", "zero"}) {
        CAPTURE(rows);
        CAPTURE(scale);
        CAPTURE(missing);
        const auto& income = columns.values[1];
        if (std::all_of(income.begin(), income.end(), [](double x) { return std::isnan(x); }))
          continue;
        folder.listen(scaled_toml(
            fmt::format("file = 'x.csv', scale = '{}', missing = '{}'", scale, missing)));
        check_close(folder.features(rows, 4),
                    expected_rows(columns, scale, missing, std::vector<bool>(rows, true)));
        folder.check_sound();
      }
    }
  }
}

TEST_CASE("scaling: by the training rows where there is a split, by files or by ratio") {
  const Columns columns = made_columns(11, 1000);
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  folder.write("x.csv", csv_text(columns));
  std::vector<bool> counts(1000, false);
  std::string ids = "id\n";
  for (std::size_t row = 3; row < 1000; row += 7) {
    counts[row] = true;
    ids += fmt::format("{}\n", row);
  }
  folder.write("t.csv", ids);
  for (const std::string scale : {"standard", "robust"}) {
    const std::string features = "file = 'x.csv', missing = 'mean', scale = '" + scale + "'";
    const std::string said = folder.listen(
        scaled_toml(features,
                    "[[splits]]\nname = 'other'\nratio = [0.5, 0.25, 0.25]\n[[splits]]\ntrain = "
                    "'t.csv'\n"));
    check_close(folder.features(1000, 4), expected_rows(columns, scale, "mean", counts));
    CHECK(says(said, "x.csv: statistics of 4 columns over the train part of split 'default'"));
    const Dataset dataset = folder.opened();
    CHECK(scaling_of(dataset).rows == 143);
    CHECK(scaling_of(dataset).columns == std::vector<std::string>{"age", "income", "mood", "same"});
  }
  folder.listen(scaled_toml("file = 'x.csv', missing = 'mean', scale = 'standard'",
                            "[[splits]]\nname = 's'\nratio = [0.5, 0.25, 0.25]\n"));
  std::vector<bool> drawn(1000, false);
  for (const std::uint64_t id : folder.train("s")) drawn[id] = true;
  check_close(folder.features(1000, 4), expected_rows(columns, "standard", "mean", drawn));
}

TEST_CASE("scaling: of nodes in graphs by training graphs, of edges by training edges") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n2,3\n");
  folder.write("x.csv", "a\n1\n3\n100\n200\n");
  folder.write("g.csv", "g\n0\n0\n1\n1\n");
  folder.write("t.csv", "g\n0\n");
  folder.listen(scaled_toml("file = 'x.csv', scale = 'minmax'",
                            "[graphs]\nmembership.file = 'g.csv'\n[[splits]]\nof = 'graphs'\ntrain "
                            "= 't.csv'\n"));
  CHECK(folder.features(4, 1) == std::vector<float>{0, 1, 49.5f, 99.5f});

  std::string edges = "src,dst,a\n";
  Columns columns{100, {{}}};
  for (int i = 0; i < 100; ++i) {
    edges += fmt::format("{},{},{}\n", i, (i + 1) % 100, i * i);
    columns.values[0].push_back(i * i);
  }
  folder.write("e.csv", edges);
  folder.listen(
      "[[edges]]\nfile = 'e.csv'\nfeatures = { columns = ['a'], scale = 'standard' }\n"
      "[[splits]]\nof = 'edges'\nratio = [0.5, 0.2, 0.3]\n");
  const Dataset dataset = folder.opened();
  const FeatureScaling& scaling = *dataset.schema().relations[0].features[0].scaling;
  const std::string bytes = read_all(folder.out() / "splits/default/train.bin");
  std::vector<double> counted;
  for (std::uint64_t i = 0; i < dataset.schema().edge_splits[0].train; ++i) {
    std::uint64_t id = 0;
    std::memcpy(&id, bytes.data() + 8 * i, 8);
    counted.push_back(columns.values[0][id]);
  }
  const Brute brute = brute_force(counted, "standard");
  CHECK(scaling.rows == counted.size());
  CHECK(scaling.shift[0] == doctest::Approx(brute.shift));
  CHECK(scaling.divisor[0] == doctest::Approx(brute.divisor));
}

TEST_CASE("scaling: the same bytes for any number of threads, and in little memory") {
  Columns columns = made_columns(5, 60'000);
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  folder.write("x.csv", csv_text(columns));
  for (const std::string scale : {"standard", "robust"}) {
    std::string first;
    for (const int threads : {1, 2, 3}) {
      folder.threads = threads;
      folder.budget = threads == 3 ? 48 * kMiB : MemoryLedger::kUnlimited;
      folder.listen(scaled_toml("file = 'x.csv', missing = 'mean', scale = '" + scale + "'"));
      const std::string bytes = read_all(folder.out() / "nodes/node/features.bin");
      if (first.empty()) first = bytes;
      CHECK(bytes == first);
    }
  }
}

TEST_CASE("scaling: arrays, sparse matrices and Parquet when asked, and every dtype") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  folder.write("x.npy", npy_rows(4, 2, {1, 10, 2, 20, 3, 30, 4, 60}));
  const auto table = table_of({{"a", array_of(arrow::int32(), "[1,2,null,4]")},
                               {"b", array_of(arrow::float64(), "[10,20,30,60]")}});
  folder.write("x.parquet", parquet_of(*table));
  folder.listen(scaled_toml("file = 'x.npy'"));
  CHECK(folder.features(4, 2) == std::vector<float>{1, 10, 2, 20, 3, 30, 4, 60});
  CHECK_FALSE(folder.opened().schema().node_type("node")->features[0].scaling);
  folder.listen(scaled_toml("file = 'x.npy', scale = 'minmax'"));
  check_close(folder.features(4, 2), {0, 0, 1 / 3.f, .2f, 2 / 3.f, .4f, 1, 1});
  folder.listen(scaled_toml("file = 'x.parquet', scale = 'minmax', missing = 'mean'"));
  check_close(folder.features(4, 2), {0, 0, 1 / 3.f, .2f, 4 / 9.f, .4f, 1, 1});
  for (const std::string dtype : {"f16", "bf16", "int8"}) {
    folder.listen(scaled_toml("file = 'x.npy', scale = 'standard', dtype = '" + dtype + "'"));
    folder.check_sound();
  }
}

TEST_CASE("scaling: what has no statistics is refused where it stands") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  folder.write("x.csv", "a,b\n1,\n2,\n");
  CHECK(says(folder.refusal(scaled_toml("file = 'x.csv', missing = 'mean'")),
             "data|ROOT/raw/x.csv: column 'b' has no value in the 2 rows"));
  CHECK(says(folder.refusal(scaled_toml("file = 'x.csv', missing = 'refuse', not_finite = 'keep'")),
             "x.csv:2: column 'b': the cell is empty"));
  CHECK(says(folder.refusal(scaled_toml("file = 'x.csv'")), "features.missing = \"mean\""));
  folder.write("x.csv", "a,b\n1,2\ninf,3\n");
  CHECK(says(folder.refusal(scaled_toml("file = 'x.csv', scale = 'standard', not_finite = 'keep'")),
             "x.csv:3: column 'a': the value is inf|mend the data: scale"));
  folder.write("x.csv", "a,b\n1,\n2,nan\n");
  folder.listen(scaled_toml("file = 'x.csv', not_finite = 'keep'"));
  CHECK(std::isnan(folder.features(2, 2)[1]));
}

TEST_CASE("scaling: it is kept with the table, shown, and used again by append") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n");
  folder.write("x.csv", "age,income\n20,2\n40,\n30,4\n");
  folder.listen(scaled_toml("file = 'x.csv', scale = 'minmax', missing = 'mean'"));
  const std::vector<float> before = folder.features(3, 2);
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  const std::string shown = to_text(inspect_dataset(folder.out(), context));
  CHECK(says(shown, "scaled:   minmax, missing: mean, by all rows (3)"));
  CHECK(says(shown, "age: (x - 20) / 20, missing: 30"));
  CHECK(says(read_all(folder.out() / "manifest.json"), "\"version\": 5"));

  folder.write("more.csv", "age,income\n60,\n25,8\n");
  const TableFormats formats = table_formats();
  const auto append = [&](const std::string& features) {
    GraphSpec spec(formats);
    Config::parse("[[nodes]]\nfeatures = { file = 'more.csv'" + features + " }\n", "a.toml")
        .bind_to(spec);
    append_to_dataset(folder.out(), spec, formats, folder.dir / "raw", "test", context);
  };
  const Error other = expect_error([&] { append(", scale = 'robust'"); });
  CHECK(says(other.what(), "scale = \"robust\", and the features of type 'node' were stored with"));
  append("");
  std::vector<float> expected = before;
  expected.insert(expected.end(), {2, .5f, .25f, 3});
  check_close(folder.features(5, 2), expected);
  CHECK(scaling_of(folder.opened()).divisor == std::vector<double>{20, 2});
  folder.check_sound();
}

TEST_CASE("scaling: the guess fills what is missing and names scales that differ") {
  RolesFolder folder;
  folder.write("edges.csv", "src,dst\n0,1\n1,2\n");
  folder.write("features.csv", "age,income\n31.5,0.275\n44,\n27.2,0.31\n");
  const auto described = folder.describe();
  CHECK(says(described.toml, "features.missing = \"mean\""));
  CHECK(says(described.toml, "income"));
  CHECK(says(described.toml, "features.scale = \"none\""));
  CHECK(says(described.toml, "\"standard\" brings them to one"));
  folder.listen_to_guess();
  CHECK(folder.features(3, 2)[3] == doctest::Approx(0.2925));
}
