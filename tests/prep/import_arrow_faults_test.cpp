// Parquet and Arrow files that are damaged, cut short or something else.
#include "arrow_files.h"
#include "import_bad_input.h"
#include "support/sanitized.h"
#include "table_folder.h"

#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

std::shared_ptr<arrow::Table> edges_table() {
  return table_of({{"src", array_of(arrow::int64(), "[0, 1, 2]")},
                   {"dst", array_of(arrow::int64(), "[1, 2, 0]")}});
}

std::shared_ptr<arrow::Table> mixed_table() {
  using namespace arrow;
  return table_of({{"i", array_of(int64(), "[0, 1, null, 3]")},
                   {"t", array_of(utf8(), R"(["one", "two", null, "four"])")},
                   {"d", array_of(dictionary(int8(), utf8()), R"(["one", "two", "one", "four"])")},
                   {"l", array_of(list(float32()), "[[1, 2], [3, 4], [5, 6], [7, 8]]")},
                   {"b", array_of(boolean(), "[true, false, true, true]")}});
}

/// Reads all columns of a file that may be damaged. Only errors of ours may come.
bool reads(const std::string& file, const std::string& bytes) {
  Tables tables(1, 256 * kMiB);
  tables.dir.write(file, bytes);
  bool fine = true;
  try {
    const auto columns = tables.open(file)->columns();
    std::set<std::string> names;
    for (const ColumnInfo& info : columns) names.insert(info.name);
    for (const std::string& name : names) {
      const ColumnInfo* info = nullptr;
      for (const ColumnInfo& candidate : columns) {
        if (candidate.name == name) info = &candidate;
      }
      try {
        tables.column(
            file, name, info->dtype ? ColumnType::kReal : ColumnType::kText, EmptyCell::kMissing);
      } catch (const Error& error) {
        CHECK((error.code() == ErrorCode::kData || error.code() == ErrorCode::kResource));
        fine = false;
      }
    }
  } catch (const Error& error) {
    CHECK((error.code() == ErrorCode::kData || error.code() == ErrorCode::kResource));
    fine = false;
  }
  CHECK(tables.ledger.used() == 0);
  return fine;
}

}  // namespace

TEST_CASE("parquet, arrow: bad input") {
  const auto table = edges_table();
  const std::string again = "|the file was cut short or is damaged: write it again";
  const auto edge = [&](const char* name,
                        const std::string& file,
                        const std::string& bytes,
                        const std::string& expected,
                        const std::string& keys = "") {
    return Fault{name,
                 {{file, bytes}},
                 "[[edges]]\nfile = '" + file + "'\n" + keys,
                 "data|ROOT/raw/" + file + ": " + expected};
  };
  using namespace arrow;
  const std::string parquet = parquet_of(*table, {.checksums = true});
  const std::string ipc = ipc_of(*table), stream = ipc_of(*table, Ipc::kStream);
  std::string wrong_page = parquet;
  wrong_page[40] = static_cast<char>(wrong_page[40] ^ 1);
  const auto parquet_with = [&](const char* json, const std::shared_ptr<DataType>& type) {
    return parquet_of(
        *table_of({{"src", array_of(int64(), "[0, 1, 2]")}, {"dst", array_of(type, json)}}));
  };
  const std::string not_utf8 = [] {
    StringBuilder builder;
    succeed(builder.Append("fine"));
    succeed(builder.Append("\xff\xfe"));
    const auto array = value_of(builder.Finish());
    return parquet_of(*table_of({{"src", array}, {"dst", array}}));
  }();
  check_all({
      edge("an empty Parquet file",
           "e.parquet",
           "",
           "is not a Parquet file|the first bytes of one are PAR1"),
      edge("text",
           "e.parquet",
           "src,dst\n0,1\n",
           "is not a Parquet file|the first bytes of one are PAR1"),
      edge("cut short",
           "e.parquet",
           parquet.substr(0, parquet.size() / 2),
           "ends before its footer|the file was cut short: write it again"),
      edge("magic only",
           "e.parquet",
           "PAR1",
           "cannot be read as Parquet: Parquet file size is 4 bytes, smaller than the minimum file "
           "footer (8 bytes)" +
               again),
      edge("encrypted",
           "e.parquet",
           "PARE" + parquet.substr(4),
           "is encrypted Parquet|write it without encryption"),
      edge("a page",
           "e.parquet",
           wrong_page,
           "cannot be read as Parquet: could not verify page integrity, CRC checksum verification "
           "failed for page_ordinal 0" +
               again),
      edge("no Arrow file",
           "e.arrow",
           "src,dst\n0,1\n",
           "is not an Arrow file or stream|the first bytes of a file are ARROW1"),
      edge("an empty Arrow file",
           "e.arrow",
           "",
           "is not an Arrow file or stream|the first bytes of a file are ARROW1"),
      edge("Feather 1",
           "e.feather",
           "FEA1....FEA1",
           "is of Feather version 1|write version 2, which pandas and pyarrow do now"),
      edge("an Arrow file cut short",
           "e.arrow",
           ipc.substr(0, ipc.size() - 20),
           "ends before its footer|the file was cut short: write it again"),
      edge(
          "a stream cut short",
          "e.ipc",
          stream.substr(0, stream.size() - 40),
          "cannot be read as Arrow: Expected to be able to read 48 bytes for message body, got 16" +
              again),
      edge("one column",
           "e.parquet",
           parquet_of(*table_of({{"src", array_of(int64(), "[0, 1, 2]")}})),
           "edges need an array of [E, 2], this is [3, 1]|one row an edge: source, target"),
      edge("lists of three in a stream",
           "e.ipc",
           ipc_of(*table_of({{"e", array_of(list(int64()), "[[0, 1, 2]]")}}), Ipc::kStream),
           "edges need an array of [E, 2], this is [E, 3]|one row an edge: source, target"),
      edge("a matrix as ids",
           "e.parquet",
           parquet_with("[[0, 1], [1, 2], [2, 0]]", fixed_size_list(int64(), 2)),
           "column 'dst' has 2 numbers a row, where ids are asked|set source_column and "
           "target_column to columns of one id a row"),
      edge("fractions as ids",
           "e.parquet",
           parquet_with("[0, 1, 2]", float32()),
           "column 'dst' holds f32, where integers are asked|store it as int64"),
      edge("texts as integers",
           "e.parquet",
           parquet_with(R"(["0", "1", "2"])", utf8()),
           "column 'dst' holds texts, where integers are asked|for ids that are text say ids = "
           "\"string\""),
      edge("a missing id",
           "e.parquet",
           parquet_with("[0, null, 2]", int64()),
           "row 1: column 'dst': the value is missing|every row needs a value here"),
      edge("a negative id",
           "e.parquet",
           parquet_with("[0, 1, -2]", int64()),
           "row 2: column 'dst': the id -2 is negative|dense ids run from 0 to count - 1; for "
           "others say ids = \"integer\""),
      edge("a decimal",
           "e.parquet",
           parquet_with(R"(["1.00", "2.00", "3.00"])", decimal128(5, 2)),
           "column 'dst' is of type decimal128(5, 2), which is no number and no text|store "
           "numbers, texts or lists of as many numbers in each row"),
      edge("no such column",
           "e.parquet",
           parquet,
           "there is no column 'dest'|did you mean 'dst'? its columns: src, dst",
           "target_column = 'dest'\n"),
      Fault{"not UTF-8",
            {{"e.parquet", not_utf8}},
            "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.parquet'\ntarget_column = 'dst'\n",
            "data|ROOT/raw/e.parquet: row 1: column 'src': the text is not valid UTF-8|write it as "
            "UTF-8"},
      nodes("features of several columns, one a matrix",
            "x.parquet",
            parquet_with("[[0, 1], [1, 2], [2, 0]]", fixed_size_list(float32(), 2)),
            "features.file = 'x.parquet'",
            "data|ROOT/raw/x.parquet: column 'dst' has 2 numbers a row, beside other columns|name "
            "it alone in features.columns, or only columns of one number a row"),
      nodes("labels of several columns, one a matrix",
            "x.parquet",
            parquet_with("[[0, 1], [1, 2], [2, 0]]", fixed_size_list(int64(), 2)),
            "labels = {file = 'x.parquet', columns = ['src', 'dst']}",
            "data|ROOT/raw/x.parquet: column 'dst' has 2 numbers a row, beside other columns|name "
            "it alone in labels.columns, or only columns of one number a row"),
      nodes("lists of no one length",
            "x.parquet",
            parquet_of(*table_of({{"x", array_of(list(float32()), "[[0, 1], [1, 2], [2]]")}})),
            "features.file = 'x.parquet'",
            "data|ROOT/raw/x.parquet: row 2: a list of 1, where the first is of 2|a matrix has as "
            "many numbers in each row: pad the lists, or cut them"),
      nodes("a missing feature",
            "x.parquet",
            parquet_of(*table_of({{"x", array_of(int32(), "[0, null, 2]")}})),
            "features = {file = 'x.parquet', not_finite = 'keep'}",
            "data|ROOT/raw/x.parquet: column 'x' has missing values, which i32 has no place "
            "for|store it as float32, or fill them"),
  });
}

TEST_CASE("parquet, arrow: a file cut at any byte is an error of ours") {
  const auto table = mixed_table();
  const std::string parquet = parquet_of(*table, {.checksums = true});
  const std::string file = ipc_of(*table),
                    packed = ipc_of(*table, Ipc::kFile, 2, arrow::Compression::LZ4_FRAME);
  for (std::size_t size = 0; size < parquet.size(); size += 7)
    CHECK_FALSE(reads("a.parquet", parquet.substr(0, size)));
  for (std::size_t size = 0; size < file.size(); size += 7)
    CHECK_FALSE(reads("a.arrow", file.substr(0, size)));
  for (std::size_t size = 0; size < packed.size(); size += 7)
    CHECK_FALSE(reads("a.feather", packed.substr(0, size)));
  const std::string stream = ipc_of(*table, Ipc::kStream);
  for (std::size_t size = 0; size < stream.size(); size += 7)
    reads("a.ipc", stream.substr(0, size));  // it may end behind any batch
}

TEST_CASE("parquet, arrow: every byte that is wrong is either harmless or an error of ours") {
  const auto table = mixed_table();
  const std::vector<std::pair<std::string, std::string>> files{
      {"a.parquet", parquet_of(*table, {.codec = arrow::Compression::SNAPPY})},
      {"a.arrow", ipc_of(*table)},
      {"a.ipc", ipc_of(*table, Ipc::kStream, 2)},
      {"a.feather", ipc_of(*table, Ipc::kFile, 2, arrow::Compression::ZSTD)}};
  for (const auto& [name, good] : files) {
    CAPTURE(name);
    REQUIRE(reads(name, good));
    std::size_t errors = 0;
    const std::size_t step = sanitized<std::size_t>(3, 41);  // each read takes a millisecond
    for (std::size_t at = 0; at < good.size(); at += step) {
      CAPTURE(at);
      for (const int mask : {1 << at % 8, 0xff}) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(bytes[at] ^ mask);
        if (!reads(name, bytes)) ++errors;
      }
    }
    CHECK(errors > good.size() / step / 10);
  }
}
