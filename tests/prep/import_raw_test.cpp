// Binary arrays without a header: what [raw] says, and files that do not fit it.
#include "import_bad_input.h"
#include "table_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// The options of [raw], as a graph.toml sets them.
TableOptions raw_options(const std::string& toml) {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::parse("[raw]\n" + toml + "[[edges]]\nfile = 'e.bin'\n", "graph.toml").bind_to(spec);
  return spec.formats;
}

std::vector<double> reals_as(const std::string& dtype, const std::string& bytes) {
  Tables tables;
  tables.dir.write("a.bin", bytes);
  const auto reader =
      tables.open("a.bin", raw_options("dtype = '" + dtype + "'\nwidth = 1\nheader = 0\n"));
  return Tables::read(*reader, {{"values", ColumnType::kReal}})[0].reals;
}

}  // namespace

TEST_CASE("raw: every dtype reads as the numbers it holds") {
  const std::vector<double> numbers{0, 1, 100};
  CHECK(reals_as("i64", bytes_of_values<std::int64_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("i32", bytes_of_values<std::int32_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("i16", bytes_of_values<std::int16_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("i8", bytes_of_values<std::int8_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("u64", bytes_of_values<std::uint64_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("u32", bytes_of_values<std::uint32_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("u16", bytes_of_values<std::uint16_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("u8", bytes_of_values<std::uint8_t>({0, 1, 100})) == numbers);
  CHECK(reals_as("f64", bytes_of_values<double>({0, 1, 100})) == numbers);
  CHECK(reals_as("f32", bytes_of_values<float>({0, 1, 100})) == numbers);
  CHECK(reals_as("f16", bytes_of_values<std::uint16_t>({0, 0x3c00, 0x5640})) == numbers);
}

TEST_CASE("raw: pairs of i64; chunks join; the header is skipped") {
  std::vector<std::int64_t> pairs(600'000);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<std::int64_t>(i * i);
  Tables tables;
  tables.dir.write("e.raw", bytes_of_values(pairs));
  const TableOptions of_pairs = raw_options("dtype = 'i64'\nwidth = 2\n");
  const auto read = [&](const std::string& file, ColumnType type) {
    return Tables::read(*tables.open(file, of_pairs), {{"values", type}})[0];
  };
  CHECK(tables.open("e.raw", of_pairs)->columns()[0].width == 2);
  CHECK(tables.open("e.raw", of_pairs)->num_rows() == 300'000);
  CHECK((read("e.raw", ColumnType::kInteger).integers == pairs));
  CHECK((read("e.raw", ColumnType::kRaw).raw == bytes_of_values(pairs)));
  CHECK(tables.ledger.peak() < 10 * kMiB);

  tables.dir.write("h.bin", "0123456789" + bytes_of_values<float>({1, 2, 3, 4, 5, 6}));
  const auto reader = tables.open("h.bin", raw_options("dtype = 'f32'\nwidth = 3\nheader = 10\n"));
  CHECK(reader->num_rows() == 2);
  CHECK(Tables::read(*reader, {{"values", ColumnType::kReal}})[0].reals ==
        std::vector<double>{1, 2, 3, 4, 5, 6});
  tables.dir.write("empty.bin", "");
  CHECK(read("empty.bin", ColumnType::kInteger).integers.empty());
}

TEST_CASE("raw: edges and features are imported") {
  ImportFolder folder;
  folder.write("e.bin", bytes_of_values<std::int64_t>({0, 1, 1, 2, 2, 0}));
  folder.run("[raw]\ndtype = 'i64'\nwidth = 2\n[[edges]]\nfile = 'e.bin'\n");
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(in_edges(dataset, "node__edge__node") == in_edges(3, {{0, 1}, {1, 2}, {2, 0}}));

  folder.write("x.bin", "head" + bytes_of_values<float>({1, 2, 3, 4, 5, 6}));
  folder.write("e.csv", kGoodEdges.second);
  folder.run(
      "[raw]\ndtype = 'f32'\nwidth = 2\nheader = 4\n[[nodes]]\nfeatures.file = 'x.bin'\n" + kEdges,
      Overwrite::kReplace);
  CHECK(stored_f32_rows(folder.out(), "node", 3, 2) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("raw: bad input") {
  const std::string edges_only = "[[edges]]\nfile = 'e.bin'\n";
  const std::string file = "[raw]\ndtype = 'i64'\nwidth = 2\n" + edges_only;
  check_all({
      {"a half row",
       {{"e.bin", std::string(24, '\0')}},
       file,
       "data|ROOT/raw/e.bin: 24 bytes behind the header are no whole number of rows of 16 bytes "
       "(2 i64)|say [raw] dtype, width and header as the file was written; or it was cut short"},
      {"a header longer than the file",
       {{"e.bin", "abc"}},
       "[raw]\ndtype = 'i64'\nwidth = 2\nheader = 8\n" + edges_only,
       "data|ROOT/raw/e.bin: has 3 bytes, fewer than the 8 that [raw] header skips|is this the "
       "file, and [raw] header its own?"},
      {"fractions as ids",
       {{"e.bin", std::string(8, '\0')}},
       "[raw]\ndtype = 'f32'\nwidth = 2\n" + edges_only,
       "data|ROOT/raw/e.bin: holds f32, where integers are asked|save a.astype('int64')"},
      {"beyond int64",
       {{"e.bin", bytes_of_values<std::uint64_t>({0, 1, 2, ~0ull})}},
       "[raw]\ndtype = 'u64'\nwidth = 2\n" + edges_only,
       "data|ROOT/raw/e.bin: row 1: 18446744073709551615 is beyond a signed 64-bit integer|say "
       "ids = \"string\": ids of any length are kept as they are"},
      {"three numbers an edge",
       {{"e.bin", std::string(24, '\0')}},
       "[raw]\ndtype = 'i64'\nwidth = 3\n" + edges_only,
       "data|ROOT/raw/e.bin: edges need an array of [E, 2], this is [1, 3]|one row an edge: "
       "source, target"},
      {"ids and labels of one column",
       {kGoodEdges, {"y.bin", std::string(24, '\0')}},
       "[raw]\ndtype = 'i64'\nwidth = 1\n[[nodes]]\nlabels.file = 'y.bin'\nlabels.id_column = "
       "'values'\n"
       "labels.columns = ['values']\n" +
           kEdges,
       "data|ROOT/raw/y.bin: 2 columns are needed, the file has one|a table of several columns "
       "is a .csv, .parquet or .npz file"},
  });
}
