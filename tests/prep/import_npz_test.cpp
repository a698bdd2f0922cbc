// Zip files of NumPy arrays: members as columns, SciPy's sparse matrices as entries, and archives
// that lie.
#include "import_bad_input.h"
#include "npz_file.h"
#include "support/sanitized.h"
#include "table_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::string npy_i64(const std::vector<std::int64_t>& values) {
  return npy_ids(values);
}
std::string npy_i32(const std::vector<std::int32_t>& values) {
  return npy("<i4", fmt::format("({},)", values.size()), bytes_of_values(values));
}

/// scipy.sparse.save_npz of [[0, 5, 0], [0, 0, 0], [6, 0, 7], [0, 0, 0]].
Members csr() {
  return {{"indices.npy", npy_i32({1, 0, 2})},
          {"indptr.npy", npy_i32({0, 1, 1, 3, 3})},
          {"format.npy", npy("|S3", "()", "csr")},
          {"shape.npy", npy_i64({4, 3})},
          {"data.npy", npy("<f8", "(3,)", bytes_of_values<double>({5, 6, 7}))}};
}

Members with(Members members, const std::string& name, const std::string& bytes) {
  for (auto& member : members) {
    if (member.first == name) member.second = bytes;
  }
  return members;
}

}  // namespace

TEST_CASE("npz: members are columns, stored or deflated") {
  for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    Tables tables;
    std::vector<std::int64_t> ids(500'000);
    std::vector<float> x(1'000'000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 3 % 1000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 4096) / 8;
    tables.dir.write("a.npz",
                     npz({{"id.npy", npy_i64(ids)},
                          {"x.npy", npy_rows(500'000, 2, x)},
                          {"sub/half.npy", npy("<f2", "(2,)", std::string("\x00\x3c\x00\xc0", 4))},
                          {"flag.npy", npy("|b1", "(2, 1)", std::string("\x01\x00", 2))},
                          {"readme.txt", "not an array"},
                          {"name.npy", npy("<U1", "(1,)", "abcd")},
                          {"scalar.npy", npy("<i8", "()", "12345678")}},
                         method));
    const auto reader = tables.open("a.npz");
    CHECK(reader->columns().size() == 4);
    CHECK(reader->num_rows() == std::nullopt);
    CHECK(reader->column("x", 0).width == 2);
    CHECK(reader->column("x", 0).dtype == DType::kF32);
    const auto read =
        Tables::read(*reader, {{"x", ColumnType::kRaw}, {"id", ColumnType::kInteger}});
    CHECK(reader->num_rows() == 500'000);
    CHECK((read[0].raw == bytes_of_values(x)));
    CHECK((read[1].integers == ids));
    CHECK(tables.reals("a.npz", "sub/half") == std::vector<double>{1, -2});
    CHECK(tables.integers("a.npz", "flag") == std::vector<std::int64_t>{1, 0});
    CHECK(tables.ledger.peak() < 12 * kMiB);

    const auto message = [&](const std::string& name) {
      return expect_error([&] { reader->column(name, 0); }).message();
    };
    CHECK(message("name") == "'name' is no column: dtype '<U1' is not supported");
    CHECK(message("scalar") == "'scalar' is no column: has 0 dimensions");
    CHECK(message("y") == "there is no column 'y'");
    const auto pair = tables.open("a.npz");
    CHECK(expect_error([&] {
            pair->select({{"id", ColumnType::kInteger}, {"flag", ColumnType::kInteger}});
          }).message() == "column 'id' has 500000 rows, column 'flag' has 2");
  }
}

TEST_CASE("npz: requests that cannot be met") {
  Tables tables;
  tables.dir.write(
      "a.npz",
      npz({{"f.npy", npy_rows(2, 1, {1, 2})},
           {"u.npy", npy("<u8", "(2,)", bytes_of_values<std::uint64_t>({1, ~0ull}))},
           {"t.npy", npy("<f4", "(2, 3)", std::string(24, '\0'), "True")},
           {"p.npy", npy("<f4", "(2, 2)", bytes_of_values<float>({1, 2, 3, 4}), "True")},
           {"c.npy", npy("<f4", "(2, 1)", std::string(8, '\0'), "True")}}));
  CHECK(tables.open("a.npz")->num_rows() == 2);
  CHECK(tables.fault("a.npz", "f", ColumnType::kInteger) ==
        "column 'f' holds f32, where integers are asked");
  CHECK(tables.fault("a.npz", "f", ColumnType::kText) ==
        "column 'f' holds f32, where texts are asked");
  CHECK(tables.column("a.npz", "u", ColumnType::kText).texts ==
        std::vector<std::string>{"1", "18446744073709551615"});
  CHECK(tables.fault("a.npz", "u", ColumnType::kInteger) ==
        "row 1: column 'u': 18446744073709551615 is beyond a signed 64-bit integer");
  CHECK(tables.fault("a.npz", "t", ColumnType::kReal) ==
        "member 't.npy': is in Fortran order, which cannot be streamed");
  CHECK(tables.reals("a.npz", "c") == std::vector<double>{0, 0});
  CHECK(tables.reals("a.npz", "p") == std::vector<double>{1, 3, 2, 4});
}

TEST_CASE("npz: sparse matrices are tables of entries") {
  Tables tables;
  const std::vector<std::int64_t> rows{0, 2, 2}, cols{1, 0, 2};
  const auto check = [&](const Members& members, const std::vector<double>& data = {5, 6, 7}) {
    tables.dir.write("m.npz", npz(members, ZIP_CM_DEFLATE));
    const auto reader = tables.open("m.npz");
    CHECK(reader->num_rows() == 3);
    CHECK(reader->columns()[0].name == "row");
    CHECK(reader->columns()[1].name == "col");
    const auto read = Tables::read(*reader,
                                   {{"row", ColumnType::kInteger},
                                    {"col", ColumnType::kInteger},
                                    {"data", ColumnType::kReal}});
    CHECK(read[0].integers == rows);
    CHECK(read[1].integers == cols);
    CHECK(read[2].reals == data);
  };
  check(csr());
  Members flagged = csr();
  flagged.emplace_back("_is_array.npy", npy("|b1", "()", std::string(1, '\1')));
  check(flagged);
  check(with(csr(), "format.npy", npy("<U3", "()", std::string("c\0\0\0s\0\0\0r\0\0\0", 12))));
  check({{"row.npy", npy_i32({0, 2, 2})},
         {"col.npy", npy_i64({1, 0, 2})},
         {"format.npy", npy("|S3", "()", "coo")},
         {"shape.npy", npy_i64({4, 3})},
         {"data.npy", npy("|b1", "(3,)", std::string("\1\0\1", 3))}},
        {1, 0, 1});
  // csc lists them column by column.
  tables.dir.write("c.npz",
                   npz({{"indices.npy", npy_i32({2, 0, 2})},
                        {"indptr.npy", npy_i64({0, 1, 2, 3})},
                        {"format.npy", npy("|S3", "()", "csc")},
                        {"shape.npy", npy_i64({4, 3})},
                        {"data.npy", npy_i64({6, 5, 7})}}));
  CHECK(tables.integers("c.npz", "row") == std::vector<std::int64_t>{2, 0, 2});
  CHECK(tables.integers("c.npz", "col") == std::vector<std::int64_t>{0, 1, 2});
  CHECK(tables.integers("c.npz", "data") == std::vector<std::int64_t>{6, 5, 7});
  // Data of a kind that we do not read leaves the edges.
  tables.dir.write("d.npz", npz(with(csr(), "data.npy", npy("<c8", "(3,)", std::string(24, 'x')))));
  CHECK(tables.open("d.npz")->columns().size() == 2);
  CHECK(tables.integers("d.npz", "row") == rows);
  // With anything else in the file these are plain arrays.
  Members both = csr();
  both.emplace_back("labels.npy", npy_i64({1, 2, 3}));
  tables.dir.write("b.npz", npz(both));
  CHECK(tables.integers("b.npz", "indptr") == std::vector<std::int64_t>{0, 1, 1, 3, 3});
}

TEST_CASE("npz: pointers are expanded across chunks, empty rows and blocks of pointers") {
  constexpr std::size_t kRows = 200'000;
  std::vector<std::int64_t> pointers{0};
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> cols;
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t degree = row % 5 == 0 ? 0 : row % 7 + (row == 70'001 ? 400'000 : 0);
    for (std::size_t i = 0; i < degree; ++i) {
      rows.push_back(static_cast<std::int64_t>(row));
      cols.push_back(static_cast<std::int32_t>((row + i) % 1000));
    }
    pointers.push_back(static_cast<std::int64_t>(rows.size()));
  }
  Tables tables;
  tables.dir.write("m.npz",
                   npz({{"indices.npy", npy_i32(cols)},
                        {"indptr.npy", npy_i64(pointers)},
                        {"format.npy", npy("|S3", "()", "csr")},
                        {"shape.npy", npy_i64({kRows, 1000})},
                        {"data.npy", npy_i32(cols)}}));
  const auto reader = tables.open("m.npz");
  const auto read =
      Tables::read(*reader, {{"row", ColumnType::kInteger}, {"col", ColumnType::kInteger}});
  CHECK((read[0].integers == rows));
  CHECK((read[1].integers == std::vector<std::int64_t>(cols.begin(), cols.end())));
  CHECK(tables.ledger.peak() < 12 * kMiB);
}

TEST_CASE("npz: edges, features and labels are imported from one file") {
  ImportFolder folder;
  folder.write(
      "g.npz",
      npz({{"x.npy", npy_rows(3, 2, {1, 2, 3, 4, 5, 6})},
           {"y.npy", npy_i64({0, 2, 1})},
           {"edge_index.npy", npy("<i8", "(2, 2)", bytes_of_values<std::int64_t>({0, 1, 2, 1}))}},
          ZIP_CM_DEFLATE));
  folder.write("adj.npz", npz(with(csr(), "shape.npy", npy_i64({4, 3}))));
  folder.write("e.csv", kGoodEdges.second);
  folder.run(
      "[[nodes]]\nfeatures = {file = 'g.npz', columns = ['x']}\n"
      "labels = {file = 'g.npz', columns = ['y']}\n" +
      kEdges);
  CHECK(stored_f32_rows(folder.out(), "node", 3, 2) == std::vector<float>{1, 2, 3, 4, 5, 6});
  folder.run("[[nodes]]\ncount = 4\n[[edges]]\nfile = 'adj.npz'\n", Overwrite::kReplace);
  CHECK(in_edges(Dataset::open(folder.out()), "node__edge__node") ==
        in_edges(4, {{0, 1}, {2, 0}, {2, 2}}));
}

TEST_CASE("npz: bad input") {
  const std::string file = "[[edges]]\nfile = 'e.npz'\n";
  const std::string again = "|the file was cut short or is damaged: save it again";
  const std::string matrix = "|save the matrix again with scipy.sparse.save_npz";
  const Members two{{"a.npy", npy_i64({0, 1, 2})}, {"b.npy", npy_i64({1, 2, 0})}};
  const std::string good = npz(two);
  const auto edge = [&](const char* name, const std::string& bytes, const std::string& expected) {
    return Fault{name, {{"e.npz", bytes}}, file, "data|ROOT/raw/e.npz: " + expected};
  };
  const auto sparse = [&](const char* name,
                          const char* part,
                          const std::string& bytes,
                          const std::string& expected) {
    return edge(name, npz(with(csr(), part, bytes)), expected);
  };
  std::string flipped = good;
  flipped[good.find(bytes_of_values<std::int64_t>({1, 2, 0})) + 8] = 1;
  std::string deflated =
      npz({{"a.npy", npy_i64(std::vector<std::int64_t>(500, 7))}, two[1]}, ZIP_CM_DEFLATE);
  deflated[deflated.find("a.npy") + 5] = '\xff';  // its first block: of no known kind
  check_all({
      edge("empty", "", "cannot be read as a zip archive: Not a zip archive" + again),
      edge(
          "no zip", "src,dst\n0,1\n", "cannot be read as a zip archive: Not a zip archive" + again),
      edge("truncated",
           good.substr(0, good.size() - 30),
           "cannot be read as a zip archive: Not a zip archive" + again),
      edge("the front is missing",
           good.substr(100),
           "cannot be read as a zip archive: Zip archive inconsistent" + again),
      edge("CRC", flipped, "member 'b.npy': cannot be unpacked: CRC error" + again),
      edge("deflate",
           deflated,
           "member 'a.npy': cannot be unpacked: Zlib error: data error" + again),
      edge("no arrays",
           npz({{"a.txt", "x"}}),
           "holds no array that is a column: it has no member 'NAME.npy'|save arrays of numbers of "
           "one dimension or two: numpy.savez(file, name=array)"),
      edge("a member without a name",
           npz({{"a.npy", npy("<i8", "(2,)", std::string(16, '\0'))},
                {".npy", npy("<i8", "(2,)", std::string(16, '\0'))}}),
           "member '.npy': is an array without a name|save it by name: numpy.savez(file, "
           "name=array)"),
      edge("objects only",
           npz({{"a.npy", npy("|O", "(1,)", "xxxx")}}),
           "holds no array that is a column: 'a' holds pickled Python objects|save arrays of "
           "numbers of one dimension or two: numpy.savez(file, name=array)"),
      edge("a member that is no array",
           npz({two[0], {"b.npy", "hello"}}),
           "member 'b.npy': is not an .npy file|an array without a header, as numpy.memmap and "
           "tofile write it, is raw: say format = \"raw\", and [raw] dtype and width"),
      edge("a member cut short",
           npz({two[0], {"b.npy", two[1].second.substr(0, 140)}}),
           "member 'b.npy': the shape (3) of '<i8' asks for 152 bytes, the file has 140|the file "
           "was cut short or is damaged: save it again"),
      edge("lengths",
           npz({two[0], {"b.npy", npy_i64({1})}}),
           "column 'a' has 3 rows, column 'b' has 1|columns that are read together have as many "
           "rows: name others"),
      edge("a matrix as ids",
           npz({two[0], {"b.npy", npy("<i8", "(3, 2)", std::string(48, '\0'))}}),
           "column 'b' has 2 numbers a row, where ids are asked|set source_column and "
           "target_column to columns of one id a row"),
      sparse("bsr",
             "format.npy",
             npy("|S3", "()", "bsr"),
             "is a sparse matrix of format 'bsr'|csr, csc and coo are read: "
             "scipy.sparse.save_npz(file, matrix.tocsr())"),
      edge("dia",
           npz({{"format.npy", npy("|S3", "()", "dia")},
                {"shape.npy", npy_i64({4, 3})},
                {"data.npy", npy_rows(1, 3, {1, 2, 3})},
                {"offsets.npy", npy_i32({0})}}),
           "is a sparse matrix of format 'dia'|csr, csc and coo are read: "
           "scipy.sparse.save_npz(file, matrix.tocsr())"),
      sparse("coo without row",
             "format.npy",
             npy("|S3", "()", "coo"),
             "is a sparse matrix without 'row'" + matrix),
      sparse("shape",
             "shape.npy",
             npy_i64({4}),
             "member 'shape.npy': is no array of 2 integers" + matrix),
      sparse("negative shape",
             "shape.npy",
             npy_i64({-4, 3}),
             "is a sparse matrix of shape (-4, 3)" + matrix),
      sparse("indptr too short",
             "indptr.npy",
             npy_i32({0, 1, 3}),
             "member 'indptr.npy': has 3 elements, the matrix asks for 5" + matrix),
      sparse("indptr of fractions",
             "indptr.npy",
             npy_rows(5, 1, {0, 1, 1, 3, 3}),
             "member 'indptr.npy': is no list of integers" + matrix),
      sparse("indptr begins late",
             "indptr.npy",
             npy_i32({1, 1, 1, 3, 3}),
             "member 'indptr.npy': does not begin at 0" + matrix),
      sparse("indptr descends",
             "indptr.npy",
             npy_i32({0, 2, 1, 3, 3}),
             "member 'indptr.npy': is not ascending" + matrix),
      sparse("indptr ends early",
             "indptr.npy",
             npy_i32({0, 1, 1, 2, 2}),
             "member 'indptr.npy': does not end at the 3 entries" + matrix),
      sparse("indptr goes beyond",
             "indptr.npy",
             npy_i32({0, 1, 1, 9, 9}),
             "member 'indptr.npy': does not end at the 3 entries" + matrix),
      sparse("data of another length",
             "data.npy",
             npy_i64({1}),
             "member 'data.npy': has 1 elements, the matrix has 3 entries" + matrix),
      sparse("an index too large",
             "indices.npy",
             npy_i32({1, 3, 2}),
             "row 1: column 'col': 3 is not below the 3 columns of the matrix" + matrix),
      sparse("a negative index",
             "indices.npy",
             npy_i32({1, 0, -2}),
             "row 2: column 'col': -2 is not below the 3 columns of the matrix" + matrix),
  });
}

TEST_CASE("npz: every byte that is wrong is either harmless or an error of ours") {
  const std::string good = npz(csr(), ZIP_CM_DEFLATE);
  std::size_t errors = 0;
  const std::size_t step = sanitized<std::size_t>(1, 9);
  for (std::size_t at = 0; at < good.size(); at += step) {
    Tables tables;
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    tables.dir.write("m.npz", bytes);
    try {
      const auto reader = tables.open("m.npz");
      for (const ColumnInfo& info : reader->columns()) tables.reals("m.npz", info.name);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kData);
      ++errors;
    }
  }
  CHECK(errors > good.size() / step / 3);
}
