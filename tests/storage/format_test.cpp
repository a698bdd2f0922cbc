#include "core/hash.h"
#include "storage/format/checksum.h"
#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"
#include "storage/format/data_file_writer.h"
#include "storage/format/layout.h"
#include "storage/format/manifest.h"
#include "storage/format/sparse_row.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <sluice/random.h>

#include <algorithm>
#include <cstring>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;

TEST_CASE("rows take whole pages where that wastes at most an eighth") {
  struct Row {
    DType dtype;
    std::uint32_t dim;
    std::uint32_t rows_per_page;
  };
  for (const Row& row : {Row{DType::kF32, 128, 8},
                         Row{DType::kF32, 100, 10},
                         Row{DType::kF16, 128, 16},
                         Row{DType::kF32, 1024, 1},
                         Row{DType::kF32, 1000, 1},
                         Row{DType::kF32, 600, 0},
                         Row{DType::kF32, 1433, 0},
                         Row{DType::kBF16, 128, 16},
                         Row{DType::kI8, 128, 31},  // 132 bytes
                         Row{DType::kI8, 100, 39},  // 104
                         Row{DType::kI8, 101, 37},  // 108: the end is aligned to 4
                         Row{DType::kI8, 1433, 0},  // 1,440
                         Row{DType::kI8, 4092, 1},  // the page exactly
                         Row{DType::kI8, 4093, 0},
                         Row{DType::kU8, 1, 4096},
                         Row{DType::kF32, 896, 1},
                         Row{DType::kF32, 895, 0}}) {
    CAPTURE(row.dim);
    const FeatureLayout layout = FeatureLayout::make(row.dtype, row.dim, 1000);
    CHECK(layout.rows_per_page == row.rows_per_page);
  }
}

TEST_CASE("rows of any layout neither overlap nor leave the file") {
  for (const std::uint32_t dim : {1u, 3u, 100u, 128u, 600u, 1023u, 1024u, 1025u, 1433u, 5000u}) {
    CAPTURE(dim);
    const FeatureLayout layout = FeatureLayout::make(DType::kF32, dim, 57);
    std::uint64_t end = 0;
    for (std::uint64_t row = 0; row < 57; ++row) {
      REQUIRE(layout.offset_of(row) >= end);
      end = layout.offset_of(row) + layout.row_bytes;
      if (layout.rows_per_page != 0) REQUIRE(layout.first_page_of(row) == layout.last_page_of(row));
    }
    CHECK(end <= layout.file_bytes());
    CHECK(layout.file_bytes() % kPageBytes == 0);
    CHECK(layout.file_bytes() - end < kPageBytes);
  }
  CHECK(FeatureLayout::make(DType::kF32, 16, 0).file_bytes() == 0);
}

TEST_CASE("a data file comes back as written, whatever the sizes of the appends") {
  const TempDir dir;
  const RandomKey key(5);
  for (const std::size_t total :
       {0ul, 1ul, 4095ul, 4096ul, 4097ul, (1ul << 20) - 1, 1ul << 20, (3ul << 20) + 5}) {
    CAPTURE(total);
    std::vector<std::byte> content(total);
    for (std::size_t i = 0; i < total; ++i) content[i] = static_cast<std::byte>(key.draw(i));
    const std::string name = "file" + std::to_string(total) + ".bin";
    DataFileWriter writer(dir.path(), name, nullptr);
    for (std::size_t at = 0, step = 1; at < total; step = step * 3 + 1) {
      const std::size_t take = std::min(step, total - at);
      writer.append(std::span(content).subspan(at, take));
      at += take;
    }
    Manifest manifest;
    const FileEntry entry = writer.finish();
    manifest.files.emplace(name, entry);
    CHECK(entry.bytes == round_up_to_page(total));
    const Array array =
        load_array(
            dir.path(), manifest, name, DType::kU8, {static_cast<std::int64_t>(total)}, {}, "test")
            .or_throw();
    CHECK(std::equal(content.begin(), content.end(), array.raw().begin(), array.raw().end()));
    const ChecksumFile sums = load_checksums(dir.path(), entry, nullptr).or_throw();
    CHECK(sums.page_sums.size() == entry.bytes / kPageBytes);
    CHECK(sums.block_sums.size() == (entry.bytes + kSumBlockBytes - 1) / kSumBlockBytes);
  }
}

TEST_CASE("every flipped bit of a checksum file is found") {
  ChecksumFile sums;
  std::vector<std::byte> data(3 * kPageBytes);
  sums.append(data);
  const std::vector<std::byte> good = sums.serialize();
  const TempDir dir;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    dir.write("x.sum", {reinterpret_cast<const char*>(bad.data()), bad.size()});
    REQUIRE_FALSE(ChecksumFile::load(dir / "x.sum", nullptr).ok());
  }
  dir.write("x.sum", {reinterpret_cast<const char*>(good.data()), good.size()});
  CHECK(ChecksumFile::load(dir / "x.sum", nullptr).ok());
}

namespace {

Manifest sample_manifest() {
  Manifest manifest;
  manifest.created_by = "test \"quoted\"";
  manifest.generation = 3;
  NodeTypeSchema node;
  node.name = "paper";
  node.count = 10;
  node.ids = IdKind::kString;
  node.features.push_back({"features", DType::kF16, 10, 128});
  node.labels = LabelSchema{LabelKind::kMultiLabel, 9};
  manifest.schema.nodes.push_back(node);
  RelationSchema relation{.source = "paper", .name = "cites", .target = "paper", .edges = 12};
  relation.has_edge_ids = true;
  relation.edge_id_bound = 12;
  manifest.schema.relations.push_back(relation);
  manifest.schema.splits.push_back({"default", "paper", 5, 2, 3});
  manifest.files.emplace("a/b.bin", FileEntry{"a/b.bin", 8192, 0xfedcba9876543210ull});
  return manifest;
}

}  // namespace

TEST_CASE("a manifest reads back to itself") {
  const Manifest manifest = sample_manifest();
  const std::string text = manifest.to_text();
  const Manifest again = Manifest::from_text(text, "m").or_throw();
  CHECK(again.to_text() == text);
  CHECK(again.generation == 3);
  CHECK(again.schema.relation("paper__cites__paper")->edges == 12);
  CHECK(again.schema.node_type("paper")->labels->width == 9);
  CHECK(again.files.at("a/b.bin").digest == 0xfedcba9876543210ull);
}

TEST_CASE("a manifest has the oldest version that knows its dtypes, so older readers open it") {
  for (const auto& [dtype, version] :
       {std::pair{DType::kF32, 1}, {DType::kF16, 1}, {DType::kBF16, 2}, {DType::kI8, 2}}) {
    Manifest manifest = sample_manifest();
    manifest.schema.nodes[0].features[0].dtype = dtype;
    const std::string text = manifest.to_text();
    CHECK(text.find("\"version\": " + std::to_string(version)) != std::string::npos);
    CHECK(text.find("\"dtype\": \"" + std::string(feature_dtype_name(dtype)) + "\"") !=
          std::string::npos);
    const Manifest again = Manifest::from_text(text, "m").or_throw();
    CHECK(again.version == version);
    CHECK(again.schema.nodes[0].features[0].dtype == dtype);
  }
}

TEST_CASE("every flipped bit and every truncation of a manifest is found") {
  const std::string good = sample_manifest().to_text();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    REQUIRE_FALSE(Manifest::from_text(bad, "m").ok());
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    REQUIRE_FALSE(Manifest::from_text(good.substr(0, size), "m").ok());
  }
}

namespace {

// A manifest edited by somebody who also mended its checksum.
std::string edited(const std::string& from, const std::string& to) {
  std::string text = sample_manifest().to_text();
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  text.replace(17, 16, "0000000000000000");
  const std::uint64_t sum = xxh3_64(std::as_bytes(std::span(text)));
  return text.replace(17, 16, hex64(sum));
}

}  // namespace

TEST_CASE("what is wrong with a manifest is named") {
  struct Row {
    const char* from;
    const char* to;
    const char* message;
  };
  for (const Row& row :
       {Row{"\"version\": 1",
            "\"version\": 8",
            "m: the dataset has format version 8; this build reads up to 7"},
        Row{"\"count\": 10",
            "\"count\": \"x\"",
            "m: malformed manifest: key 'count' is no integer from 0 to 18446744073709551615"},
        Row{"\"count\": 10",
            "\"count\": 4.2e20",
            "m: malformed manifest: key 'count' is no integer from 0 to 18446744073709551615"},
        Row{"\"version\": 1",
            "\"version\": -1",
            "m: malformed manifest: key 'version' is no integer from 0 to 2147483647"},
        Row{"\"generation\": 3",
            "\"generatio\": 3",
            "m: malformed manifest: key 'generation' is missing"},
        Row{"\"f16\"", "\"i8\"", "m: malformed manifest: key 'dtype' has an unknown value"},
        Row{"\"f16\"",
            "\"int8\"",
            "m: malformed manifest: 'rows_per_page' does not follow from dtype and dim"},
        Row{"\"f16\"", "\"f17\"", "m: malformed manifest: key 'dtype' has an unknown value"},
        Row{"multi_label",
            "multi_babel",
            "m: malformed manifest: key 'kind' has the unknown value 'multi_babel'"},
        Row{"a/b.bin",
            "../b.bin",
            "m: malformed manifest: the entry of file '../b.bin' is malformed"},
        Row{"\"source\": \"paper\"",
            "\"source\": \"papr\"",
            "m: malformed manifest: an edge names the unknown node type 'papr'"},
        Row{"\"count\": 12",
            "\"count\": 288230376151711745",
            "m: malformed manifest: 'count' is 288230376151711745 edges, and no file holds so "
            "many"},
        // Times 3, as numbers of a log, it is 2 in 64 bits.
        Row{"\"edge_id_bound\": 12",
            "\"edge_id_bound\": 12, \"appended\": 6148914691236517206, \"appended_id_bound\": 12",
            "m: malformed manifest: 'appended' is 6148914691236517206 edges, and no file holds so "
            "many"},
        Row{"sluice-dataset",
            "something-else",
            "m: malformed manifest: 'format' is not sluice-dataset"}}) {
    CAPTURE(row.from);
    auto result = Manifest::from_text(edited(row.from, row.to), "m");
    REQUIRE_FALSE(result.ok());
    CHECK(std::string(result.error().what()) == row.message);
    CHECK(result.error().code() == ErrorCode::kData);
    CHECK_FALSE(result.error().hint().empty());
  }
}

TEST_CASE("names that would escape or be ambiguous are refused") {
  for (const char* good : {"paper", "a-b.c", "a_x", "A9"}) CHECK(name_problem(good).empty());
  for (const char* bad : {"", ".x", "a__b", "a/b", "a b", "\xc3\xa9", "a..b", "_x", "x_"})
    CHECK_FALSE(name_problem(bad).empty());
  CHECK_FALSE(name_problem(std::string(101, 'x')).empty());
}

TEST_CASE("sparse rows: a manifest says their room, and what is no such row is told") {
  FeatureSchema table;
  table.rows = 50;
  table.dim = 300;
  table.entries = 7;
  const FeatureLayout layout = FeatureLayout::make(table);
  CHECK(layout.row_bytes == 4 + 16 + 28);
  CHECK(layout.rows_per_page == 85);
  CHECK(layout.entries == 7);
  table.dim = 70'000;  // columns of 4 bytes
  table.dtype = DType::kF16;
  CHECK(FeatureLayout::make(table).row_bytes == 4 + 28 + 16);

  Manifest manifest = sample_manifest();
  FeatureSchema& kept = manifest.schema.nodes[0].features[0];
  kept.entries = kept.dim;
  const std::string text = manifest.to_text();
  CHECK(text.find("\"version\": 7") != std::string::npos);
  const Manifest again = Manifest::from_text(text, "m").or_throw();
  CHECK(again.version == 7);
  CHECK(again.schema.nodes[0].features[0].entries == kept.dim);
  ++kept.entries;
  const auto refused = Manifest::from_text(manifest.to_text(), "m");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("'entries' is ") != std::string::npos);

  const auto problem = [](std::uint32_t count, std::uint16_t first, std::uint16_t second) {
    std::vector<std::byte> row(4 + 4 + 8);
    std::memcpy(row.data(), &count, 4);
    std::memcpy(row.data() + 4, &first, 2);
    std::memcpy(row.data() + 6, &second, 2);
    const char* const why = sparse_row_problem(300, 2, row);
    return std::string(why == nullptr ? "" : why);
  };
  CHECK(problem(0, 9, 9).empty());
  CHECK(problem(2, 9, 299).empty());
  CHECK(problem(3, 1, 2) == "has more entries than there is room for");
  CHECK(problem(2, 9, 300) == "has an entry in a column that is not there");
  CHECK(problem(2, 9, 9) == "has columns that do not ascend");
}
