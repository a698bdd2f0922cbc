// Parquet and Arrow files: every type, missing values, lists, groups and batches, and files that
// lie. What is read is compared with the JSON it was written from.
#include "arrow_files.h"
#include "prep/features/elements.h"
#include "support/sanitized.h"
#include "table_folder.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A way to write a table that must read the same as the others.
struct Form {
  std::string file;
  std::function<std::string(const arrow::Table&)> bytes;
};

std::vector<Form> forms(std::int64_t rows = 1 << 20) {
  return {
      {"plain.parquet", [=](const arrow::Table& t) { return parquet_of(t, {.group_rows = rows}); }},
      {"packed.pq",
       [=](const arrow::Table& t) {
         return parquet_of(t,
                           {.group_rows = rows,
                            .codec = arrow::Compression::ZSTD,
                            .dictionary = false,
                            .checksums = true});
       }},
      {"file.arrow", [=](const arrow::Table& t) { return ipc_of(t, Ipc::kFile, rows); }},
      {"stream.ipc", [=](const arrow::Table& t) { return ipc_of(t, Ipc::kStream, rows); }},
      {"packed.feather",
       [=](const arrow::Table& t) {
         return ipc_of(t, Ipc::kFile, rows, arrow::Compression::LZ4_FRAME);
       }},
  };
}

void in_each_form(const arrow::Table& table,
                  const std::function<void(Tables&, const std::string&)>& check,
                  std::int64_t rows = 1 << 20) {
  for (const Form& form : forms(rows)) {
    CAPTURE(form.file);
    Tables tables;
    tables.dir.write(form.file, form.bytes(table));
    check(tables, form.file);
    CHECK(tables.ledger.used() == 0);
  }
}

struct TypeCase {
  std::shared_ptr<arrow::DataType> type;
  std::string json;
  std::optional<DType> dtype;
  std::vector<double> numbers;
};

std::vector<TypeCase> number_types() {
  using namespace arrow;
  const auto time = [](const std::shared_ptr<DataType>& type, DType dtype) {
    return TypeCase{type, "[0, 1, 86400000]", dtype, {0, 1, 86400000}};
  };
  return {
      {boolean(), "[true, false, true]", DType::kU8, {1, 0, 1}},
      {int8(), "[-128, 0, 127]", DType::kI8, {-128, 0, 127}},
      {uint8(), "[0, 1, 255]", DType::kU8, {0, 1, 255}},
      {int16(), "[-32768, 0, 32767]", DType::kI32, {-32768, 0, 32767}},
      {uint16(), "[0, 1, 65535]", DType::kI32, {0, 1, 65535}},
      {int32(), "[-2147483648, 0, 7]", DType::kI32, {-2147483648.0, 0, 7}},
      {uint32(), "[0, 1, 4294967295]", DType::kU32, {0, 1, 4294967295.0}},
      {int64(), "[-9007199254740992, 0, 7]", DType::kI64, {-9007199254740992.0, 0, 7}},
      {uint64(), "[0, 1, 9007199254740992]", DType::kU64, {0, 1, 9007199254740992.0}},
      {float16(), "[0.5, -2, 65504]", DType::kF16, {0.5, -2, 65504}},
      {float32(), "[0.5, -2, 1e30]", DType::kF32, {0.5, -2, static_cast<double>(1e30f)}},
      {float64(), "[0.1, -2, 1e300]", DType::kF64, {0.1, -2, 1e300}},
      {date32(), "[0, 1, 20000]", DType::kI32, {0, 1, 20000}},
      time(time32(TimeUnit::MILLI), DType::kI32),
      time(time64(TimeUnit::MICRO), DType::kI64),
      time(timestamp(TimeUnit::MICRO), DType::kI64),
      time(timestamp(TimeUnit::NANO, "UTC"), DType::kI64),
      time(duration(TimeUnit::MILLI), DType::kI64),
  };
}

std::vector<std::int64_t> whole(const std::vector<double>& numbers) {
  std::vector<std::int64_t> values;
  for (const double number : numbers) values.push_back(static_cast<std::int64_t>(number));
  return values;
}

std::vector<double> widen(const std::string& raw, DType dtype) {
  std::vector<double> values;
  for (std::size_t i = 0; i < raw.size() / size_of(dtype); ++i)
    values.push_back(element_as_double(dtype, std::as_bytes(std::span(raw)), i));
  return values;
}

}  // namespace

TEST_CASE("parquet, arrow: every type of number, as integers, reals and stored bytes") {
  for (const TypeCase& type : number_types()) {
    CAPTURE(type.type->ToString());
    const auto table = table_of({{"x", array_of(type.type, type.json)}});
    in_each_form(*table, [&](Tables& tables, const std::string& file) {
      CHECK(tables.open(file)->columns()[0].dtype == type.dtype);
      CHECK(tables.open(file)->columns()[0].width == 1);
      CHECK(tables.reals(file, "x") == type.numbers);
      CHECK(widen(tables.column(file, "x", ColumnType::kRaw).raw, *type.dtype) == type.numbers);
      if (arrow::is_floating(type.type->id())) {
        CHECK(tables.fault(file, "x", ColumnType::kInteger) ==
              fmt::format("column 'x' holds {}, where integers are asked", to_string(*type.dtype)));
      } else {
        CHECK(tables.integers(file, "x") == whole(type.numbers));
      }
      if (arrow::is_integer(type.type->id())) {
        std::vector<std::string> texts;
        for (const std::int64_t number : whole(type.numbers))
          texts.push_back(std::to_string(number));
        CHECK(tables.column(file, "x", ColumnType::kText).texts == texts);
      } else {
        CHECK(tables.fault(file, "x", ColumnType::kText) ==
              fmt::format("column 'x' holds {}, where texts are asked", type.type->ToString()));
      }
    });
  }
}

TEST_CASE("arrow: date64 is milliseconds; Parquet knows days only") {
  const auto table = table_of({{"x", array_of(arrow::date64(), "[0, 86400000]")}});
  Tables tables;
  tables.dir.write("a.arrow", ipc_of(*table));
  tables.dir.write("a.parquet", parquet_of(*table));
  CHECK(tables.integers("a.arrow", "x") == std::vector<std::int64_t>{0, 86400000});
  CHECK(tables.integers("a.parquet", "x") == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("parquet, arrow: texts, plain and under a dictionary") {
  const std::vector<std::string> words{"a", "", "häuser", "a"};
  const std::string json = R"(["a", "", "häuser", "a"])";
  for (const auto& type : {arrow::utf8(),
                           arrow::large_utf8(),
                           arrow::utf8_view(),
                           arrow::dictionary(arrow::int8(), arrow::utf8()),
                           arrow::dictionary(arrow::uint16(), arrow::large_utf8())}) {
    CAPTURE(type->ToString());
    const auto table = table_of({{"w", array_of(type, json)}});
    in_each_form(*table, [&](Tables& tables, const std::string& file) {
      CHECK_FALSE(tables.open(file)->columns()[0].dtype.has_value());
      CHECK(tables.column(file, "w", ColumnType::kText).texts == words);
      CHECK(tables.fault(file, "w", ColumnType::kInteger) ==
            "column 'w' holds texts, where integers are asked");
      CHECK(tables.fault(file, "w", ColumnType::kReal) ==
            "column 'w' holds texts, where numbers are asked");
    });
  }
}

TEST_CASE("parquet, arrow: lists of one length are a matrix") {
  using namespace arrow;
  const std::string json = "[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]";
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (const auto& type : {fixed_size_list(float32(), 3),
                           list(float32()),
                           large_list(int16()),
                           list(float64()),
                           fixed_size_list(uint8(), 3)}) {
    CAPTURE(type->ToString());
    const auto table =
        table_of({{"id", array_of(int64(), "[1, 2, 3, 4]")}, {"m", array_of(type, json)}});
    in_each_form(
        *table,
        [&](Tables& tables, const std::string& file) {
          const ColumnInfo info = tables.open(file)->column("m", 0);
          CHECK(info.width == 3);
          CHECK(tables.reals(file, "m") == numbers);
          CHECK(widen(tables.column(file, "m", ColumnType::kRaw).raw, *info.dtype) == numbers);
          if (*info.dtype == DType::kF32 || *info.dtype == DType::kF64) {
            CHECK(tables.fault(file, "m", ColumnType::kText).find("where texts are asked") !=
                  std::string::npos);
          } else {
            std::vector<std::string> texts;
            for (const double number : numbers) texts.push_back(fmt::format("{}", number));
            CHECK(tables.column(file, "m", ColumnType::kText).texts == texts);
          }
        },
        3);
  }
}

TEST_CASE("parquet, arrow: missing values") {
  using namespace arrow;
  const auto table =
      table_of({{"i", array_of(int32(), "[1, null, 3]")},
                {"u", array_of(uint64(), "[1, null, 3]")},
                {"b", array_of(boolean(), "[true, null, false]")},
                {"f", array_of(float32(), "[1, null, 3]")},
                {"t", array_of(utf8(), R"(["x", null, "z"])")},
                {"d", array_of(dictionary(int8(), utf8()), R"(["x", null, "z"])")},
                {"e", array_of(fixed_size_list(float32(), 2), "[[1, 2], [3, null], [5, 6]]")},
                {"l", array_of(list(int64()), "[null, [3, 4], [5, 6]]")}});
  in_each_form(*table, [&](Tables& tables, const std::string& file) {
    const auto missing = EmptyCell::kMissing;
    for (const char* name : {"i", "u", "b", "f"}) {
      CAPTURE(name);
      CHECK(tables.fault(file, name, ColumnType::kReal) ==
            fmt::format("row 1: column '{}': the value is missing", name));
    }
    CHECK(tables.integers(file, "i", missing) == std::vector<std::int64_t>{1, -1, 3});
    CHECK(tables.integers(file, "u", missing) == std::vector<std::int64_t>{1, -1, 3});
    CHECK(tables.integers(file, "b", missing) == std::vector<std::int64_t>{1, -1, 0});
    CHECK(std::isnan(tables.reals(file, "f", missing)[1]));
    CHECK(
        std::isnan(widen(tables.column(file, "f", ColumnType::kRaw, missing).raw, DType::kF32)[1]));
    CHECK(tables.fault(file, "i", ColumnType::kRaw, missing) ==
          "column 'i' has missing values, which i32 has no place for");
    for (const char* name : {"t", "d"}) {
      CHECK(tables.fault(file, name, ColumnType::kText) ==
            fmt::format("row 1: column '{}': the value is missing", name));
      CHECK(tables.column(file, name, ColumnType::kText, missing).texts ==
            std::vector<std::string>{"x", "", "z"});
    }
    CHECK(tables.fault(file, "i", ColumnType::kText) == "row 1: column 'i': the value is missing");
    CHECK(tables.fault(file, "e", ColumnType::kReal) ==
          "row 1: column 'e': element 1: the value is missing");
    CHECK(std::isnan(tables.reals(file, "e", missing)[3]));
    CHECK(tables.open(file)->column("l", 0).width == 2);
    CHECK(tables.fault(file, "l", ColumnType::kInteger) ==
          "row 0: column 'l': element 0: the value is missing");
    CHECK(tables.integers(file, "l", missing) == std::vector<std::int64_t>{-1, -1, 3, 4, 5, 6});
  });
}

TEST_CASE("parquet, arrow: what is no column is an error when it is asked for") {
  using namespace arrow;
  const auto table =
      table_of({{"s", array_of(struct_({field("a", int64())}), R"([{"a": 1}, {"a": 2}])")},
                {"n", array_of(list(list(int64())), "[[[1]], [[2]]]")},
                {"b", array_of(binary(), R"(["x", "y"])")},
                {"v", array_of(list(int64()), "[[1, 2], [3]]")},
                {"w", array_of(list(utf8()), R"([["x"], ["y"]])")},
                {"big", array_of(uint64(), "[1, 18446744073709551615]")},
                {"nul", array_of(utf8(), "[\"x\", \"y\\u0000\"]")},
                {"i", array_of(int64(), "[1, 2]")},
                {"i", array_of(int64(), "[3, 4]")}});
  in_each_form(*table, [&](Tables& tables, const std::string& file) {
    const auto fault = [&](const char* name, ColumnType type = ColumnType::kInteger) {
      return tables.fault(file, name, type);
    };
    CHECK(fault("s") == "column 's' is of type struct<a: int64>, which is no number and no text");
    CHECK(fault("b") == "column 'b' is of type binary, which is no number and no text");
    CHECK(fault("n").starts_with("column 'n' is of type list<"));
    CHECK(fault("w").starts_with("column 'w' is of type list<"));
    CHECK(fault("v") == "row 1: column 'v': a list of 1, where the first is of 2");
    CHECK(fault("big") ==
          "row 1: column 'big': 18446744073709551615 is beyond a signed 64-bit integer");
    CHECK(tables.column(file, "big", ColumnType::kText).texts ==
          std::vector<std::string>{"1", "18446744073709551615"});
    CHECK(fault("nul", ColumnType::kText) == "row 1: column 'nul': the text holds a NUL byte");
    const Error twice = expect_error([&] { tables.open(file)->column("i", 0); });
    CHECK(twice.message() == "there are 2 columns 'i'");
  });
}

TEST_CASE("parquet, arrow: no rows") {
  using namespace arrow;
  const auto table = table_of({{"i", array_of(int64(), "[]")},
                               {"t", array_of(utf8(), "[]")},
                               {"l", array_of(list(float32()), "[]")}});
  in_each_form(*table, [&](Tables& tables, const std::string& file) {
    CHECK(tables.integers(file, "i").empty());
    CHECK(tables.column(file, "t", ColumnType::kText).texts.empty());
    CHECK(tables.reals(file, "l").empty());
    CHECK(tables.open(file)->columns()[2].width == 0);
  });
}

namespace {

constexpr std::int64_t kRows = 300'001;

/// Numbers, texts, a category and a matrix, with a value missing here and there.
std::shared_ptr<arrow::Table> large_table() {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  arrow::StringDictionaryBuilder kinds;
  arrow::FloatBuilder values;
  for (std::int64_t i = 0; i < kRows; ++i) {
    succeed(i % 1000 == 7 ? ids.AppendNull() : ids.Append(i * 7919 % kRows));
    succeed(names.Append(fmt::format("node {}", i % 50'000)));
    succeed(kinds.Append(fmt::format("kind {}", i % 13)));
    for (int c = 0; c < 4; ++c) succeed(values.Append(static_cast<float>(i + c) / 4));
  }
  const auto matrix = value_of(arrow::FixedSizeListArray::FromArrays(value_of(values.Finish()), 4));
  return table_of({{"id", value_of(ids.Finish())},
                   {"name", value_of(names.Finish())},
                   {"kind", value_of(kinds.Finish())},
                   {"x", matrix}});
}

const std::vector<ColumnRequest> kAll{{"x", ColumnType::kRaw},
                                      {"name", ColumnType::kText},
                                      {"id", ColumnType::kInteger, EmptyCell::kMissing},
                                      {"kind", ColumnType::kText},
                                      {"id", ColumnType::kReal, EmptyCell::kMissing}};

void check_large(const std::vector<ReadColumn>& read) {
  std::string matrix;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    std::vector<float> values;
    for (int c = 0; c < 4; ++c) values.push_back(static_cast<float>(i + c) / 4);
    matrix += bytes_of_values(values);
    const std::int64_t id = i % 1000 == 7 ? -1 : i * 7919 % kRows;
    const bool same =
        read[1].texts[row] == fmt::format("node {}", i % 50'000) && read[2].integers[row] == id &&
        read[3].texts[row] == fmt::format("kind {}", i % 13) &&
        (id == -1 ? std::isnan(read[4].reals[row]) : read[4].reals[row] == static_cast<double>(id));
    if (!same) FAIL("row " << i << " differs");
  }
  CHECK((read[0].raw == matrix));
}

}  // namespace

TEST_CASE("parquet, arrow: groups and batches join, for any number of threads") {
  const auto table = large_table();
  const std::int64_t whole = kSanitized ? 40'000 : std::int64_t{1} << 20;
  for (const std::int64_t rows : std::set<std::int64_t>{whole, 40'000}) {
    for (const Form& form : forms(rows)) {
      const std::string bytes = form.bytes(*table);
      for (const int threads : std::set<int>{sanitized(1, 4), 4}) {
        CAPTURE(form.file);
        CAPTURE(threads);
        Tables tables(threads);
        tables.dir.write(form.file, bytes);
        const auto reader = tables.open(form.file);
        CHECK(reader->num_rows().has_value() == (form.file != "stream.ipc"));
        check_large(Tables::read(*reader, kAll));
      }
    }
  }
}

TEST_CASE("parquet, arrow: memory is bounded by pages and batches, not by the file") {
  const auto table = large_table();  // of some 10 MB, 5 MB of it the matrix
  for (const Form& form : forms(40'000)) {
    CAPTURE(form.file);
    Tables tables(2, 12 * kMiB);
    tables.dir.write(form.file, form.bytes(*table));
    check_large(Tables::read(*tables.open(form.file), kAll));
    CHECK(tables.ledger.peak() > 0);
  }
  // One row group of the whole: page by page all the same. One batch: where it is.
  Tables tables(2, 12 * kMiB);
  tables.dir.write("one.parquet", parquet_of(*table, {.page_bytes = 1 << 16}));
  check_large(Tables::read(*tables.open("one.parquet"), kAll));
  tables.dir.write("one.arrow", ipc_of(*table));
  check_large(Tables::read(*tables.open("one.arrow"), kAll));
}

TEST_CASE("parquet, arrow: what the budget refuses is an error, whenever it does") {
  const auto table = large_table();
  for (const Form& form : forms(100'000)) {
    const std::string bytes = form.bytes(*table);
    std::size_t refused = 0;
    for (std::uint64_t limit = 4 * kKiB; limit < 16 * kMiB; limit *= sanitized(2u, 4u)) {
      CAPTURE(form.file);
      CAPTURE(limit);
      Tables tables(2, limit);
      tables.dir.write(form.file, bytes);
      try {
        check_large(Tables::read(*tables.open(form.file), kAll));
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::kResource);
        ++refused;
      }
      CHECK(tables.ledger.used() == 0);
    }
    CHECK(refused > 3);
  }
}

TEST_CASE("parquet, arrow: a graph is imported") {
  using namespace arrow;
  in_each_form(
      *table_of({{"src", array_of(utf8(), R"(["a", "b", "c"])")},
                 {"dst", array_of(dictionary(int8(), utf8()), R"(["b", "c", "a"])")},
                 {"when", array_of(timestamp(TimeUnit::SECOND), "[1, 2, 3]")}}),
      [&](Tables& tables, const std::string& file) {
        ImportFolder folder;
        folder.write(file, read_all(tables.dir / file));
        folder.write(
            "x.parquet",
            parquet_of(*table_of({{"x", array_of(list(float32()), "[[1, 2], [3, 4], [5, 6]]")}})));
        folder.write("n.arrow",
                     ipc_of(*table_of({{"y", array_of(int32(), "[1, 0, null]")},
                                       {"id", array_of(utf8(), R"(["a", "b", "c"])")}})));
        folder.run(
            "[[nodes]]\nids = 'string'\nid_list = {file = 'n.arrow', column = 'id'}\n"
            "features.file = 'x.parquet'\nlabels = {file = 'n.arrow', columns = ['y']}\n"
            "[[edges]]\nfile = '" +
            file + "'\n");
        const Dataset dataset = Dataset::open(folder.out());
        CHECK(in_edges(dataset, "node__edge__node") == in_edges(3, {{0, 1}, {1, 2}, {2, 0}}));
        CHECK(stored_f32_rows(folder.out(), "node", 3, 2) == std::vector<float>{1, 2, 3, 4, 5, 6});
      });
}

TEST_CASE("parquet, arrow: files that pyarrow writes") {
  const std::string python = SLUICE_PYTHON;
  if (!std::filesystem::exists(python)) {
    MESSAGE("skipped: there is no " << python);
    return;
  }
  Tables tables;
  tables.dir.write("write.py", R"(
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.feather as feather, sys
rows = 100000
t = pa.table({
    'src': pa.array(range(rows)),
    'dst': pa.array([i * 31 % rows for i in range(rows)], pa.uint32()),
    'name': pa.array([f'n{i % 77}' for i in range(rows)]).dictionary_encode(),
    'x': pa.array([[i, i + 0.5] for i in range(rows)], pa.list_(pa.float32())),
})
pq.write_table(t, sys.argv[1] + '/a.parquet', row_group_size=30000, use_content_defined_chunking=True)
pq.write_table(t, sys.argv[1] + '/v2.parquet', data_page_version='2.0', compression='gzip',
               column_encoding={'src': 'DELTA_BINARY_PACKED', 'dst': 'BYTE_STREAM_SPLIT'},
               use_dictionary=['name'])
feather.write_feather(t, sys.argv[1] + '/a.feather')
with pa.ipc.new_stream(sys.argv[1] + '/a.ipc', t.schema) as s:
    s.write_table(t, 1000)
)");
  const std::string command =
      python + " " + (tables.dir / "write.py").string() + " " + tables.dir.path().string();
  REQUIRE(std::system(command.c_str()) == 0);
  for (const char* file : {"a.parquet", "v2.parquet", "a.feather", "a.ipc"}) {
    CAPTURE(file);
    const auto read = Tables::read(*tables.open(file),
                                   {{"src", ColumnType::kInteger},
                                    {"dst", ColumnType::kInteger},
                                    {"name", ColumnType::kText},
                                    {"x", ColumnType::kReal}});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 100'000; ++i) {
      const auto number = static_cast<std::int64_t>(i);
      wrong += read[0].integers.at(i) != number ||
               read[1].integers.at(i) != number * 31 % 100'000 ||
               read[2].texts.at(i) != fmt::format("n{}", i % 77) ||
               read[3].reals.at(2 * i + 1) != static_cast<double>(i) + 0.5;
    }
    CHECK(wrong == 0);
  }
}
