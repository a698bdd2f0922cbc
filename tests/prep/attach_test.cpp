// sluice-prep attach: a file's rows as a feature table, and what is refused.
#include "attached_support.h"
#include "prep/check/verify.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kAttachSeed = 29;
constexpr std::int64_t kAttachColumns = 3;

std::vector<float> attached_values() {
  std::vector<float> values;
  for (std::uint64_t row = 0; row < TypedGraph::kA; ++row)
    for (std::uint32_t column = 0; column < kAttachColumns; ++column)
      values.push_back(TypedGraph::value("attached", row, column));
  return values;
}

std::vector<std::int64_t> ids_in_order() {
  std::vector<std::int64_t> ids(TypedGraph::kA);
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return ids;
}

}  // namespace

TEST_CASE("attach makes a file's rows a feature table, and leaves all else") {
  MESSAGE("seed " << kAttachSeed);
  const TypedGraph graph(kAttachSeed);
  const TempDir dir;
  graph.write(dir / "x");
  const std::string before = read_all(dir / "x/nodes/a/features.bin");
  const std::vector<float> values = attached_values();
  write_embedded(dir / "rows.safetensors", values, kAttachColumns, ids_in_order());
  PropagationSession session;
  AttachOptions options = attach_options(dir / "x", dir / "rows.safetensors");
  const AttachReport report = attach_table(options, session.context);
  CHECK(report.generation == 2);
  CHECK(report.rows == TypedGraph::kA);
  CHECK(report.columns == kAttachColumns);
  const Dense found = read_table(dir / "x", "a", "scores");
  REQUIRE(found.values.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(found.values[i] == static_cast<double>(values[i]));
  CHECK(read_all(dir / "x/nodes/a/features.bin") == before);
  const Dataset opened = Dataset::open((dir / "x").string());
  REQUIRE(opened.schema().nodes[0].features.size() == 2);
  CHECK(opened.schema().nodes[0].features[1].name == "scores");
  CHECK(opened.schema().relations.size() == graph.edges.size());
  CHECK(opened.schema().splits.size() == 1);

  // Again, rounded to f16, in the place of the first; without ids rows go by number.
  write_embedded(dir / "more.safetensors", values, kAttachColumns);
  options.file = dir / "more.safetensors";
  options.dtype = DType::kF16;
  options.table = Overwrite::kReplace;
  CHECK(attach_table(options, session.context).generation == 3);
  const Dense rounded = read_table(dir / "x", "a", "scores");
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(std::abs(rounded.values[i] - found.values[i]) <= 2 * 0x1p-11);  // values are below 2
  CHECK(session.ledger.used() == 0);
  const VerifyReport verified = verify_dataset((dir / "x").string(), session.context);
  CHECK(verified.problems == std::vector<std::string>());
  CHECK(verified.strangers == std::vector<std::string>());
}

TEST_CASE("a table that is replaced keeps its place among the type's tables") {
  const TypedGraph graph(kAttachSeed);
  const TempDir dir;
  graph.write(dir / "x");
  const std::vector<float> values = attached_values();
  write_embedded(dir / "rows.safetensors", values, kAttachColumns, ids_in_order());
  PropagationSession session;
  AttachOptions options = attach_options(dir / "x", dir / "rows.safetensors");
  (void)attach_table(options, session.context);
  options.name = "features";
  options.table = Overwrite::kReplace;
  (void)attach_table(options, session.context);
  const Dataset opened = Dataset::open((dir / "x").string());
  const auto& tables = opened.schema().nodes[0].features;
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].name == "features");
  CHECK(tables[0].dim == kAttachColumns);
  CHECK(tables[1].name == "scores");
  const Dense found = read_table(dir / "x", "a", "features");
  REQUIRE(found.values.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(found.values[i] == static_cast<double>(values[i]));
}

TEST_CASE("attach refuses rows that are not the nodes', and leaves the dataset as it was") {
  const TypedGraph graph(kAttachSeed);
  const TempDir dir;
  graph.write(dir / "x");
  const std::string manifest = read_all(dir / "x/manifest.json");
  const std::vector<float> values = attached_values();
  std::vector<float> infinite = values, large = values;
  infinite[7] = std::numeric_limits<float>::infinity();
  large[4] = 1e6f;
  std::vector<std::int64_t> turned = ids_in_order();
  std::swap(turned[2], turned[5]);
  PropagationSession session;
  const auto refused = [&](ErrorCode code,
                           const std::string& words,
                           const std::vector<float>& rows,
                           const std::vector<std::int64_t>& ids,
                           const std::function<void(AttachOptions&)>& change) {
    CAPTURE(words);
    write_embedded(dir / "bad.safetensors", rows, kAttachColumns, ids);
    AttachOptions options = attach_options(dir / "x", dir / "bad.safetensors");
    change(options);
    const Error error = expect_error([&] { (void)attach_table(options, session.context); });
    CHECK(error.code() == code);
    CHECK_MESSAGE(std::string(error.message()).find(words) != std::string::npos, error.message());
    CHECK_FALSE(std::string(error.hint()).empty());
    CHECK(read_all(dir / "x/manifest.json") == manifest);
    CHECK(session.ledger.used() == 0);
  };
  const auto as_it_is = [](AttachOptions&) {};
  const std::vector<float> few(values.begin(), values.end() - kAttachColumns);
  refused(ErrorCode::kData, "59 rows, and 60 nodes of type 'a'", few, {}, as_it_is);
  refused(ErrorCode::kData, "row 2 is of id '5'", values, turned, as_it_is);
  refused(ErrorCode::kData, "row 2, column 1: inf", infinite, {}, as_it_is);
  refused(ErrorCode::kData, "row 1, column 1", large, {}, [](AttachOptions& options) {
    options.dtype = DType::kF16;
  });
  refused(ErrorCode::kUsage, "no node type 'z'", values, {}, [](AttachOptions& options) {
    options.node_type = "z";
  });
  refused(ErrorCode::kUsage, "several node types", values, {}, [](AttachOptions& options) {
    options.node_type.clear();
  });
  refused(ErrorCode::kUsage, "a feature table 'features' already", values, {}, [](auto& options) {
    options.name = "features";
  });
  refused(ErrorCode::kUsage, "no name for a table", values, {}, [](AttachOptions& options) {
    options.name = "a/b";
  });
  refused(ErrorCode::kUsage, "not kept as int8", values, {}, [](AttachOptions& options) {
    options.dtype = DType::kI8;
  });
}

TEST_CASE("attach refuses rows that say that they are of another type, as many as they may be") {
  const TypedGraph graph(kAttachSeed);
  const TempDir dir;
  graph.write(dir / "x");
  const std::string manifest = read_all(dir / "x/manifest.json");
  PropagationSession session;
  const AttachOptions options = attach_options(dir / "x", dir / "rows.safetensors");
  write_embedded(options.file, attached_values(), kAttachColumns, ids_in_order(), "b");
  const Error error = expect_error([&] { (void)attach_table(options, session.context); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(error.message() == "rows of nodes of type 'b' cannot become a table of type 'a'");
  CHECK(error.hint().find("--type b") != std::string::npos);
  CHECK(error.place().file == options.file.string());
  CHECK(read_all(dir / "x/manifest.json") == manifest);
  write_embedded(options.file, attached_values(), kAttachColumns, ids_in_order(), "a");
  CHECK(attach_table(options, session.context).rows == TypedGraph::kA);
}
