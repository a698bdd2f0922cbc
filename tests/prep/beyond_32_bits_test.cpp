// More than 2^32 edges. Always: a dataset whose neighbours are a sparse file, so that counts,
// offsets and positions go beyond 32 bits without the bytes. With SLUICE_LARGE=FOLDER (26 GB): a
// conversion of that many, edge by edge.
#include "prep/check/inspect.h"
#include "prep/convert/converter.h"
#include "storage/format/dataset_writer.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ios>

using namespace sluice;
using sluice::test::TempDir;

namespace {

constexpr std::uint64_t kBeyond = (std::uint64_t{1} << 32) + 12'345;

/// Zeros but for a few u32, with checksums as if all had been written.
class SparseFile {
 public:
  SparseFile(const std::filesystem::path& root, std::string path, std::uint64_t values)
      : root_(root), path_(std::move(path)) {
    sums_.data_bytes = round_up_to_page(values * sizeof(std::uint32_t));
    ChecksumFile zeros;
    const std::vector<std::byte> block(kSumBlockBytes);
    zeros.append(block);
    const std::uint64_t pages = sums_.data_bytes / kPageBytes;
    sums_.page_sums.assign(pages, zeros.page_sums[0]);
    sums_.block_sums.assign((sums_.data_bytes + kSumBlockBytes - 1) / kSumBlockBytes,
                            zeros.block_sums[0]);
    std::filesystem::create_directories((root_ / path_).parent_path());
    std::ofstream(root_ / path_).close();
    std::filesystem::resize_file(root_ / path_, sums_.data_bytes);
  }

  void set(std::uint64_t index, std::uint32_t value) {
    const std::uint64_t at = index * sizeof value;
    const std::uint64_t first = at / kSumBlockBytes * kSumBlockBytes;
    const std::uint64_t bytes = std::min(kSumBlockBytes, sums_.data_bytes - first);
    std::vector<std::byte> block(bytes);
    std::fstream file(root_ / path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(first));
    file.read(reinterpret_cast<char*>(block.data()), static_cast<std::streamsize>(bytes));
    std::memcpy(block.data() + (at - first), &value, sizeof value);
    file.seekp(static_cast<std::streamoff>(first));
    file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(bytes));
    ChecksumFile one;
    one.append(block);
    std::copy(one.page_sums.begin(),
              one.page_sums.end(),
              sums_.page_sums.begin() + static_cast<std::ptrdiff_t>(first / kPageBytes));
    sums_.block_sums[first / kSumBlockBytes] = one.block_sums[0];
  }

  FileEntry finish() {
    const std::vector<std::byte> bytes = sums_.serialize();
    std::ofstream out(root_ / sum_path(path_), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return {path_, sums_.data_bytes, sums_.digest()};
  }

 private:
  std::filesystem::path root_;
  std::string path_;
  ChecksumFile sums_;
};

}  // namespace

TEST_CASE("counts, offsets and positions beyond 2^32") {
  const TempDir dir;
  // Four targets: one edge, 2^32 + 10, none, and the rest.
  const std::vector<std::uint64_t> offsets{
      0, 1, (std::uint64_t{1} << 32) + 11, (std::uint64_t{1} << 32) + 11, kBeyond};
  RelationSchema relation{.source = "s", .name = "r", .target = "t"};
  relation.edges = kBeyond;
  {
    DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
    writer.schema().nodes.push_back({.name = "s", .count = 1000});
    writer.schema().nodes.push_back({.name = "t", .count = 4});
    writer.schema().relations.push_back(relation);
    writer.write(relation_path(relation, "offsets.bin"), std::span<const std::uint64_t>(offsets));
    SparseFile neighbours(dir / "raw", relation_path(relation, "neighbours.bin"), kBeyond);
    neighbours.set(0, 7);
    neighbours.set((std::uint64_t{1} << 32) + 10, 8);
    neighbours.set(kBeyond - 1, 9);
    writer.adopt(dir / "raw", neighbours.finish());
    writer.commit("test");
  }
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log};
  const InspectReport report = inspect_dataset((dir / "x").string(), context);
  CHECK(report.relations[0].edges == kBeyond);
  CHECK(report.relations[0].max_in_degree == (std::uint64_t{1} << 32) + 10);
  CHECK(report.relations[0].degree_histogram.size() == 34);

  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto topology = dataset.topology("s__r__t", {.placement = Placement::kDisk});
  CHECK(topology->num_edges() == kBeyond);
  const std::vector<std::uint64_t> targets{1, 3};
  std::vector<EdgeRange> ranges(2);
  topology->ranges(targets, ranges).or_throw();
  CHECK(ranges[0].degree() == (std::uint64_t{1} << 32) + 10);
  CHECK(ranges[1].end == kBeyond);
  const std::vector<std::uint64_t> positions{0, 5, (std::uint64_t{1} << 32) + 10, kBeyond - 1};
  std::vector<std::uint64_t> found(4);
  topology->neighbours(positions, found).or_throw();
  CHECK(found == std::vector<std::uint64_t>{7, 0, 8, 9});
}

namespace {

constexpr std::uint64_t kTargets = 1 << 20;
constexpr std::uint64_t kView = 1 << 26;
constexpr std::uint64_t kOdd = 0x9e3779b1;

/// Checks each edge as it comes, and keeps none.
class CheckingSink final : public CscSink {
 public:
  explicit CheckingSink(std::uint64_t edges)
      : CscSink(DType::kU32, DType::kU64), edges_(edges), inverse_(kOdd) {
    for (int i = 0; i < 5; ++i) inverse_ *= 2 - kOdd * inverse_;
  }
  CscRoom room(std::uint64_t targets, std::uint64_t edges) override {
    ends_.resize(targets);
    neighbours_.resize(edges);
    ids_.resize(edges);
    return {ends_.data(),
            reinterpret_cast<std::byte*>(neighbours_.data()),
            reinterpret_cast<std::byte*>(ids_.data())};
  }
  void commit(std::uint64_t targets, std::uint64_t edges) override {
    std::uint64_t at = 0;
    for (std::uint64_t t = 0; t < targets; ++t, ++target_) {
      // Edge i has the target i * kOdd mod 2^20: every 2^20-th of those that have it is this one's.
      std::uint64_t id = target_ * inverse_ % kTargets;
      for (; done_ + at < ends_[t]; ++at, id += kTargets) {
        if (ids_[at] != id || neighbours_[at] != (id % kView & 1)) ++wrong;
      }
      if (id < edges_) ++wrong;  // one is missing
    }
    if (at != edges) ++wrong;
    done_ += edges;
  }
  void finish() override {}

  std::uint64_t wrong = 0;
  std::uint64_t done() const { return done_; }

 private:
  std::uint64_t edges_;
  std::uint64_t inverse_;
  std::vector<std::uint64_t> ends_, ids_;
  std::vector<std::uint32_t> neighbours_;
  std::uint64_t target_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

TEST_CASE("a conversion of more than 2^32 edges, edge by edge") {
  const char* const folder = std::getenv("SLUICE_LARGE");
  if (folder == nullptr) {
    MESSAGE("skipped: SLUICE_LARGE names no folder with 26 GB to spare");
    return;
  }
  std::vector<std::uint32_t> source(kView), target(kView);
  for (std::uint64_t i = 0; i < kView; ++i) {
    source[i] = static_cast<std::uint32_t>(i & 1);
    target[i] = static_cast<std::uint32_t>(i * kOdd % kTargets);
  }
  const std::uint64_t edges = kView * 65;
  REQUIRE(edges > kBeyond);
  MemoryLedger ledger(std::uint64_t{2} << 30, "--memory");
  ThreadArena arena;
  ConvertOptions options;
  options.rules = {.num_sources = 2, .num_targets = kTargets};
  options.edge_ids = true;
  options.expected_edges = edges;
  options.spill_folder = folder;
  Converter converter(options, arena, &ledger);
  for (std::uint64_t view = 0; view < 65; ++view) {
    REQUIRE_FALSE(
        converter.add(EdgeSpan<std::uint32_t>{source.data(), target.data(), kView}, view * kView)
            .has_value());
  }
  CheckingSink sink(edges);
  const ConvertStats stats = converter.drain(sink, edges);
  CHECK(sink.wrong == 0);
  CHECK(sink.done() == edges);
  CHECK(stats.edges_written == edges);
  CHECK(stats.max_degree == 65 * (kView / kTargets));
  CHECK(stats.spilled_bytes > std::uint64_t{20} << 30);
}
