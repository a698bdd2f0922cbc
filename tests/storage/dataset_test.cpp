#include "support/expect_error.h"
#include "support/sample_dataset.h"
#include "support/sanitized.h"
#include "support/stored_rows.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ios>
#include <map>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::SampleOptions;
using sluice::test::sanitized;
using sluice::test::TempDir;

namespace {

void flip_bit(const std::filesystem::path& path, std::uint64_t byte, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(byte));
  const int old = file.get();
  file.seekp(static_cast<std::streamoff>(byte));
  file.put(static_cast<char>(old ^ (1 << bit)));
}

std::vector<std::uint64_t> random_rows(std::uint64_t nodes, std::size_t count, RandomKey key) {
  std::vector<std::uint64_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = key.below(nodes, i);
  return rows;
}

void check_gather(FeatureStore& store, const std::vector<std::uint64_t>& rows, std::uint32_t dim) {
  std::vector<float> out(rows.size() * dim, -1);
  store.gather(rows, std::as_writable_bytes(std::span(out))).or_throw();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t c = 0; c < dim; ++c)
      wrong += out[i * dim + c] == test::sample_feature(rows[i], c) ? 0u : 1u;
  }
  REQUIRE(wrong == 0);
}

}  // namespace

TEST_CASE("disk and memory give the same rows, for every layout and engine") {
  for (const std::uint32_t dim : {1u, 32u, 100u, 600u, 1433u, 3000u}) {
    CAPTURE(dim);
    const TempDir dir;
    SampleOptions options;
    options.dim = dim;
    options.nodes = 700;
    const std::size_t count = sanitized(2000, 500);
    test::write_sample(dir / "x", options);
    const Dataset dataset = Dataset::open((dir / "x").string());
    for (const FeatureStoreOptions& where :
         {FeatureStoreOptions{Placement::kMemory},
          FeatureStoreOptions{Placement::kDisk, IoChoice::kAuto},
          FeatureStoreOptions{Placement::kDisk, IoChoice::kPread},
          FeatureStoreOptions{
              Placement::kDisk, IoChoice::kAuto, 1}}) {  // the smallest staging buffer there can be
      const auto store = dataset.features("node", where);
      CHECK(store->row_bytes() == 4 * dim);
      check_gather(*store, {}, dim);
      check_gather(*store, {699, 0, 699, 1, 0}, dim);
      check_gather(*store, random_rows(options.nodes, count, RandomKey(dim)), dim);
      CHECK(store->stats().rows == count + 5);
    }
  }
}

TEST_CASE("disk and memory give the same rows for every dtype, and those are what went in") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    for (const std::uint32_t dim : {1u, 30u, 128u, 1433u, 5000u}) {
      CAPTURE(to_string(dtype));
      CAPTURE(dim);
      const TempDir dir;
      SampleOptions options;
      options.dtype = dtype;
      options.dim = dim;
      options.nodes = sanitized(600, 150);
      test::write_sample(dir / "x", options);
      const Dataset dataset = Dataset::open((dir / "x").string());
      const std::size_t row_bytes = test::stored_row_bytes(dtype, dim);
      const auto rows = random_rows(options.nodes, sanitized(1000, 250), RandomKey(dim));
      std::vector<std::byte> expected;
      for (const FeatureStoreOptions& where :
           {FeatureStoreOptions{Placement::kMemory},
            FeatureStoreOptions{Placement::kDisk, IoChoice::kAuto},
            FeatureStoreOptions{Placement::kDisk, IoChoice::kPread},
            FeatureStoreOptions{Placement::kDisk, IoChoice::kAuto, 1}}) {
        const auto store = dataset.features("node", where);
        REQUIRE(store->row_bytes() == row_bytes);
        std::vector<std::byte> out(rows.size() * row_bytes, std::byte{0xaa});
        store->gather(rows, out).or_throw();
        if (expected.empty()) expected = out;
        REQUIRE((out == expected));
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::byte* row = expected.data() + i * row_bytes;
        float scale = 0;
        if (dtype == DType::kI8) std::memcpy(&scale, row, sizeof scale);
        const auto values = test::stored_values(dtype, row, dim);
        std::uint32_t near = 0;  // one check a row: a check costs more than a value
        for (std::uint32_t c = 0; c < dim; ++c) {
          const double x = static_cast<double>(test::sample_feature(rows[i], c));
          const double bound = test::largest_error(dtype, x, static_cast<double>(scale));
          near += std::abs(values[c] - x) <= bound ? 1u : 0u;
        }
        REQUIRE(near == dim);
      }
    }
  }
}

TEST_CASE("the store on disk reads each page once, in merged requests") {
  const TempDir dir;
  SampleOptions options;
  options.dim = 128;  // 8 rows a page
  options.nodes = 8 * 1000;
  test::write_sample(dir / "x", options);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto store = dataset.features("node");
  std::vector<std::uint64_t> all(options.nodes);
  for (std::uint64_t i = 0; i < options.nodes; ++i) all[i] = options.nodes - 1 - i;
  check_gather(*store, all, options.dim);
  CHECK(store->stats().bytes_read == 1000 * kPageBytes);
  CHECK(store->stats().bytes_useful == 1000 * kPageBytes);
  CHECK(store->stats().requests == (1000 + 15) / 16);  // 64 KiB each
}

TEST_CASE("the topology is the graph that went in") {
  const TempDir dir;
  const SampleOptions options;
  test::write_sample(dir / "x", options);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto topology = dataset.topology("node__edge__node");
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> expected;
  const auto edges = test::sample_edges(options);
  for (std::uint64_t id = 0; id < edges.size(); ++id)
    expected[edges[id].second].emplace_back(edges[id].first, id);
  CHECK(topology->num_edges() == edges.size());
  for (std::uint64_t node = 0; node < options.nodes; ++node) {
    EdgeRange range;
    topology->ranges({&node, 1}, {&range, 1}).or_throw();
    REQUIRE(range.degree() == expected[node].size());
    std::vector<std::uint64_t> positions(range.degree());
    for (std::uint64_t i = 0; i < positions.size(); ++i) positions[i] = range.begin + i;
    std::vector<std::uint64_t> neighbours(positions.size());
    std::vector<std::uint64_t> ids(positions.size());
    topology->neighbours(positions, neighbours).or_throw();
    topology->edge_ids(positions, ids).or_throw();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      REQUIRE(neighbours[i] == expected[node][i].first);
      REQUIRE(ids[i] == expected[node][i].second);
    }
  }
}

TEST_CASE("labels, splits and ids come back, and are charged while they live") {
  const TempDir dir;
  test::write_sample(dir / "x");
  MemoryLedger ledger(64 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  {
    const Array labels = dataset.labels("node");
    CHECK(labels.as<std::int32_t>()[0] == -1);
    CHECK(labels.as<std::int32_t>()[999] == 2);
    const Split split = dataset.split("default");
    CHECK(split.train.numel() == 500);
    CHECK(split.valid.numel() == 200);
    CHECK(split.test.numel() == 300);
    CHECK(ledger.used() >= 4000 + 8000);
  }
  CHECK(ledger.used() == 0);
  CHECK(dataset.ids("node").text(17) == "17");
}

TEST_CASE("what is not there is refused by name, with what is") {
  const TempDir dir;
  test::write_sample(dir / "x");
  const Dataset dataset = Dataset::open((dir / "x").string());
  const std::string where = (dir / "x").string();
  CHECK(std::string(expect_error([&] { dataset.labels("nod"); }).what()) ==
        where + ": the dataset has no node type 'nod'");
  CHECK(expect_error([&] { dataset.split("fold1"); }).hint() == "it has: default");
  CHECK(expect_error([&] { dataset.topology("a__b__c"); }).hint() == "it has: node__edge__node");
  CHECK(expect_error([&] { dataset.features("node", {}, "x"); }).code() == ErrorCode::kUsage);
  CHECK(std::string(expect_error([&] { Dataset::open((dir / "y").string()); }).what()) ==
        (dir / "y").string() + ": there is no such dataset");
  CHECK(std::string(expect_error([&] { Dataset::open(dir.path().string()); }).what()) ==
        dir.path().string() + ": not a dataset: it has no manifest.json");
}

TEST_CASE("rows that a table lacks, too little memory for them, and ids of no node are refused") {
  const TempDir dir;
  test::write_sample(dir / "x");
  const Dataset dataset = Dataset::open((dir / "x").string());
  const std::uint64_t nodes = dataset.schema().nodes[0].count;
  for (const Placement placement : {Placement::kMemory, Placement::kDisk}) {
    const auto store = dataset.features("node", {.placement = placement});
    const auto refuses = [&](const GatherRequest& request, const std::string& says) {
      const auto gathered = store->gather(request);
      REQUIRE(!gathered);
      CHECK(gathered.error().code() == ErrorCode::kUsage);
      CHECK(gathered.error().message().find(says) != std::string::npos);
    };
    std::vector<std::byte> out(3 * store->row_bytes());
    const std::vector<std::uint64_t> rows{0, 5, 1}, beyond{0, nodes, 1};
    const std::vector<std::uint32_t> places{2, 0, 1}, far{0, 1, 3}, few{0, 1};
    refuses({beyond, {}, out}, "row " + std::to_string(nodes));
    refuses({rows, {}, std::span(out).first(out.size() - 1)}, "bytes");
    refuses({rows, far, out}, "bytes");
    refuses({rows, few, out}, "2 places");
    CHECK(store->gather({rows, places, out}));
    CHECK(store->gather({{}, {}, {}}));
  }
  const Array numbers = Array::make(DType::kI64, {2}).or_throw();
  const ExternalIds integers(IdKind::kInteger, numbers, {}, {});
  CHECK(expect_error([&] { (void)integers.integer(2); }).code() == ErrorCode::kUsage);
  CHECK(expect_error([&] { (void)integers.text(2); }).code() == ErrorCode::kUsage);
  Array offsets = Array::make(DType::kU64, {2}).or_throw();
  offsets.as<std::uint64_t>()[0] = offsets.as<std::uint64_t>()[1] = 0;
  const ExternalIds strings(IdKind::kString, {}, offsets, Array::make(DType::kU8, {0}).or_throw());
  CHECK(strings.text(0).empty());
  CHECK(expect_error([&] { (void)strings.text(1); }).code() == ErrorCode::kUsage);
  CHECK(expect_error([&] { (void)strings.integer(0); }).code() == ErrorCode::kUsage);
}

TEST_CASE("a truncated, missing or grown file is found at open") {
  const TempDir dir;
  test::write_sample(dir / "x");
  const std::filesystem::path path = dir / "x/nodes/node/features.bin";
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - kPageBytes);
  const Error error = expect_error([&] { Dataset::open((dir / "x").string()); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(std::string(error.what()) == path.string() + ": the file has " +
                                         std::to_string(size - kPageBytes) +
                                         " bytes, the manifest says " + std::to_string(size));
  std::filesystem::resize_file(path, size);
  CHECK_NOTHROW(Dataset::open((dir / "x").string()));
  std::filesystem::remove(path);
  CHECK(expect_error([&] { Dataset::open((dir / "x").string()); }).code() == ErrorCode::kData);
}

TEST_CASE("a flipped bit is named with file and page, and never delivered") {
  const TempDir dir;
  test::write_sample(dir / "x");
  const std::filesystem::path features = dir / "x/nodes/node/features.bin";
  flip_bit(features, 5000, 3);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto store = dataset.features("node");
  std::vector<float> out(32);
  const std::vector<std::uint64_t> sound{0};
  CHECK(store->gather(sound, std::as_writable_bytes(std::span(out))).ok());
  const std::vector<std::uint64_t> damaged{40};  // 32 rows a page: page 1
  const auto result = store->gather(damaged, std::as_writable_bytes(std::span(out)));
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code() == ErrorCode::kData);
  CHECK(std::string(result.error().what()).find(features.string() + " at byte 4096: ") == 0);
  CHECK(expect_error([&] { dataset.features("node", {Placement::kMemory}); }).code() ==
        ErrorCode::kData);

  flip_bit(dir / "x/edges/node__edge__node/neighbours.bin", 100, 0);
  CHECK(std::string(expect_error([&] { dataset.topology("node__edge__node"); }).what()) ==
        (dir / "x/edges/node__edge__node/neighbours.bin").string() +
            " at byte 0: the page does not match its checksum");
}

TEST_CASE("a store that does not fit its budget is refused, not shrunk in silence") {
  const TempDir dir;
  test::write_sample(dir / "x");
  MemoryLedger ledger(50'000, "[memory] host");
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  CHECK(expect_error([&] { dataset.features("node", {Placement::kMemory}); }).code() ==
        ErrorCode::kResource);
  CHECK(expect_error([&] { dataset.features("node", {Placement::kDisk}); }).code() ==
        ErrorCode::kResource);
  CHECK(ledger.used() == 0);
}
