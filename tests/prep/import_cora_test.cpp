// The real citation graph, imported by the ready config and compared with its raw files. Skipped
// where it is not there.
#include "table_support.h"

#include <algorithm>
#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The values of an .npy file whose header is `header_bytes` long, read without our reader.
template <class T>
std::vector<T> raw_values(const std::filesystem::path& path, std::size_t header_bytes = 128) {
  const std::string bytes = read_all(path);
  std::vector<T> values((bytes.size() - header_bytes) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + header_bytes, values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("import: Cora") {
  const std::filesystem::path cora = data_folder() / "cora";
  if (!std::filesystem::exists(cora)) {
    MESSAGE("skipped: no Cora at ", cora.string(), "; set SLUICE_DATA");
    return;
  }
  const TempDir dir;
  const char* source = std::getenv("SLUICE_SOURCE");
  const std::filesystem::path config =
      std::filesystem::path(source != nullptr ? source : ".") / "configs/cora-graph.toml";
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::load(config.string()).bind_to(spec);
  MemoryLedger ledger(64 * kMiB, "--memory");
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  const std::filesystem::path root = resolve_root(spec, config, cora.string());
  const ImportReport report =
      import_dataset(spec, formats, {root, dir / "cora", Overwrite::kRefuse, "test"}, context);
  CHECK(report.nodes == 2'708);
  CHECK(report.edges == 2 * 5'278);

  const Dataset dataset = Dataset::open(dir / "cora");
  const NodeTypeSchema& papers = dataset.schema().nodes.at(0);
  CHECK((stored_f32_rows(dir / "cora", papers.name, 2'708, 1'433) ==
         raw_values<float>(cora / "features.npy")));
  const auto labels = raw_values<std::int64_t>(cora / "labels.npy");
  const Array stored = dataset.labels(papers.name);
  CHECK(std::equal(labels.begin(), labels.end(), stored.as<std::int32_t>().begin()));
  CHECK(papers.labels->width == 7);

  Pairs edges;
  std::istringstream lines(read_all(cora / "edges.csv"));
  std::string line;
  std::getline(lines, line);
  for (std::uint64_t a = 0, b = 0; std::getline(lines, line);) {
    std::istringstream fields(line);
    char comma = 0;
    REQUIRE(static_cast<bool>(fields >> a >> comma >> b));
    edges.emplace_back(a, b);
    if (a != b) edges.emplace_back(b, a);
  }
  CHECK((in_edges(dataset, dataset.schema().relations.at(0).key()) == in_edges(2'708, edges)));

  const Split split = dataset.split("default");
  const auto same = [](const Array& part, const std::vector<std::int64_t>& ids) {
    const auto values = part.as<std::uint64_t>();
    return std::equal(
        ids.begin(), ids.end(), values.begin(), values.end(), [](std::int64_t a, std::uint64_t b) {
          return static_cast<std::uint64_t>(a) == b;
        });
  };
  CHECK(same(split.train, raw_values<std::int64_t>(cora / "train_idx.npy")));
  CHECK(same(split.valid, raw_values<std::int64_t>(cora / "val_idx.npy")));
  CHECK(same(split.test, raw_values<std::int64_t>(cora / "test_idx.npy")));
}
