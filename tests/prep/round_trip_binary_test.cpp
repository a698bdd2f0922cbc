// Binary importers, to a dataset, and out again: the same edges and rows under the users' own ids.
#include "arrow_files.h"
#include "npz_file.h"
#include "round_trip_graph.h"

#include <arrow/builder.h>

using namespace sluice;
using namespace sluice::test;

namespace {

template <class Builder, class Values>
std::shared_ptr<arrow::Array> column_of(const Values& values) {
  Builder builder;
  for (const auto& value : values) succeed(builder.Append(value));
  std::shared_ptr<arrow::Array> array;
  succeed(builder.Finish(&array));
  return array;
}

std::vector<std::int64_t> pairs_of(const Truth& truth) {
  std::vector<std::int64_t> pairs;
  for (const auto& e : truth.edges)
    for (const std::size_t node : {e.source, e.target})
      pairs.push_back(std::stoll(truth.ids[node]));
  return pairs;
}

}  // namespace

TEST_CASE("round trip: Parquet and Arrow, with names, times and weights") {
  const Fixture f;
  CAPTURE(f.seed);
  const Truth truth = draw(f.seed, 40, 300, string_name);
  std::vector<std::string> from, to;
  std::vector<std::int64_t> times;
  std::vector<float> weights;
  std::vector<CsvRow> expected{{"source", "target", "time", "weight"}};
  for (const auto& e : truth.edges) {
    from.push_back(truth.ids[e.source]);
    to.push_back(truth.ids[e.target]);
    times.push_back(e.time);
    weights.push_back(e.weight);
    expected.push_back(
        {from.back(), to.back(), std::to_string(e.time), fmt::format("{}", e.weight)});
  }
  const auto table = table_of({{"from", column_of<arrow::StringBuilder>(from)},
                               {"to", column_of<arrow::StringBuilder>(to)},
                               {"when", column_of<arrow::Int64Builder>(times)},
                               {"much", column_of<arrow::FloatBuilder>(weights)}});
  f.write("e.parquet", parquet_of(*table));
  f.write("e.arrow", ipc_of(*table));
  for (const char* file : {"e.parquet", "e.arrow"}) {
    CAPTURE(file);
    const Content content = f.datasets.content(f.datasets.import(
        fmt::format("[[nodes]]\nids = 'string'\n[[edges]]\nfile = '{}'\ntime_column = "
                    "'when'\nweight_column = 'much'\n",
                    file),
        f.dir / "raw"));
    CHECK((content.at("node__edge__node") == sorted_rows(expected)));
    CHECK((content.at("node") == truth.node_rows(false)));
  }
}

TEST_CASE("round trip: raw pairs and members of npz") {
  const Fixture f;
  CAPTURE(f.seed);
  const Truth truth = draw(f.seed, 60, 400, integer_name);
  const std::vector<std::int64_t> pairs = pairs_of(truth);
  f.write("e.bin", "HEAD" + bytes_of_values(pairs));
  const std::string toml = "[[nodes]]\nids = 'integer'\n[[edges]]\nfile = '{}'\n";
  f.check_pairs(
      fmt::format(fmt::runtime(toml), "e.bin") + "[raw]\ndtype = 'i64'\nwidth = 2\nheader = 4\n",
      truth);
  std::vector<std::int64_t> from, to;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    from.push_back(pairs[i]);
    to.push_back(pairs[i + 1]);
  }
  for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    f.write("e.npz", npz({{"from.npy", npy_ids(from)}, {"to.npy", npy_ids(to)}}, method));
    f.check_pairs(
        fmt::format(fmt::runtime(toml), "e.npz") + "source_column = 'from'\ntarget_column = 'to'\n",
        truth);
  }
}

TEST_CASE("round trip: SciPy's sparse matrices") {
  const Fixture f;
  CAPTURE(f.seed);
  const auto name = [](std::size_t i) { return std::to_string(i); };
  Truth truth = draw(f.seed, 50, 300, name);
  std::stable_sort(truth.edges.begin(), truth.edges.end(), [](const auto& a, const auto& b) {
    return a.source < b.source;
  });
  std::vector<std::int64_t> rows, columns, starts(51, 0);
  std::vector<float> data;
  std::vector<CsvRow> expected{{"source", "target", "weight"}};
  for (const auto& e : truth.edges) {
    rows.push_back(static_cast<std::int64_t>(e.source));
    columns.push_back(static_cast<std::int64_t>(e.target));
    data.push_back(e.weight);
    for (std::size_t row = e.source + 1; row < starts.size(); ++row) ++starts[row];
    expected.push_back({truth.ids[e.source], truth.ids[e.target], fmt::format("{}", e.weight)});
  }
  const auto array = [](const std::vector<std::int64_t>& values) { return npy_ids(values); };
  const std::string values = npy("<f4", fmt::format("({},)", data.size()), bytes_of_values(data));
  const std::pair<std::string, std::string> shape{"shape.npy", array({50, 50})},
      weights{"data.npy", values};
  f.write("coo.npz",
          npz({{"format.npy", npy("|S3", "()", "coo")},
               shape,
               weights,
               {"row.npy", array(rows)},
               {"col.npy", array(columns)}}));
  f.write("csr.npz",
          npz({{"format.npy", npy("|S3", "()", "csr")},
               shape,
               weights,
               {"indptr.npy", array(starts)},
               {"indices.npy", array(columns)}},
              ZIP_CM_DEFLATE));
  for (const char* file : {"coo.npz", "csr.npz"}) {
    CAPTURE(file);
    const Content content = f.datasets.content(f.datasets.import(
        fmt::format("[[nodes]]\ncount = 50\n[[edges]]\nfile = '{}'\nweight_column = 'data'\n",
                    file),
        f.dir / "raw"));
    CHECK((content.at("node__edge__node") == sorted_rows(expected)));
  }
}
