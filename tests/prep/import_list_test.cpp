// Edge lists, triples and multiplex lists against a plain reading of the same text; CSV without a
// header; what malformed ones are told.
#include "table_support.h"

#include <sluice/random.h>

#include <algorithm>
#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Fields by white space, comments and blank lines left out.
Cells by_blanks(const std::string& text, const std::string& comment = "#%") {
  Cells rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::vector<std::string> row;
    for (std::string field; fields >> field;) row.push_back(field);
    if (row.empty() || comment.find(row[0][0]) != std::string::npos) continue;
    rows.push_back(row);
  }
  return rows;
}

Fault list(const char* name,
           const std::string& text,
           const std::string& expected,
           const std::string& keys = "") {
  return {name, {{"e.txt", text}}, "[[edges]]\nfile = 'e.txt'\n" + keys, expected};
}

constexpr const char* kMany =
    "every line needs as many; where fields hold spaces, name what stands between them: delimiter "
    "= \"\\t\"";

}  // namespace

TEST_CASE("list: comments, blank lines, CRLF, runs of white space, no line end at the end") {
  TextTable table;
  ThreadArena arena(2);
  const std::string text =
      "\xef\xbb\xbf# Nodes: 5\r\n% again\n\n \t\r\n"
      "0\t 1\r\n  2   3 \t \n   # 8 9\n\t4\t5\n\n-6 0007";
  const auto reader = table.open("a.txt", text, arena);
  CHECK(column_names(*reader) == std::vector<std::string>{"c0", "c1"});
  CHECK(read_cells(*reader, ColumnType::kInteger) ==
        Cells{{"0", "1"}, {"2", "3"}, {"4", "5"}, {"-6", "7"}});
  for (const char* name : {"a.edges", "a.edgelist", "a.el", "a.lst"})
    CHECK(read_cells(*table.open(name, text, arena)).back() ==
          std::vector<std::string>{"-6", "0007"});
}

TEST_CASE("list: numbers as CSV reads them, in any column, twice if asked") {
  TextTable table;
  ThreadArena arena(1);
  const std::string text =
      "9223372036854775807 1e400 +1\n-9223372036854775808 1e-400 .5\n0x10 -inf "
      "1e3\n000000000000000000"
      "0000000012 7 -0.1\n";
  CHECK(read_cells(*table.open("a.txt", text, arena), ColumnType::kInteger, {"c0", "c0"}) ==
        Cells{{"9223372036854775807", "9223372036854775807"},
              {"-9223372036854775808", "-9223372036854775808"},
              {"16", "16"},
              {"12", "12"}});
  CHECK(read_cells(*table.open("a.txt", text, arena), ColumnType::kReal, {"c2", "c1"}) ==
        Cells{{"1", "inf"}, {"0.5", "0"}, {"1000", "-inf"}, {"-0.1", "7"}});
}

TEST_CASE("list: names, a delimiter, comments by option, empty cells") {
  TextTable table;
  ThreadArena arena(1);
  const auto reader = table.open("a.txt",
                                 "! no row\n#1\ta b\t\n2\t c\t 4 \n \n",
                                 arena,
                                 "[list]\ncolumns = ['id', 'name', 'x']\ndelimiter = \"\\t\"\n"
                                 "comment = '!'");
  CHECK(column_names(*reader) == std::vector<std::string>{"id", "name", "x"});
  CHECK(read_cells(*reader) == Cells{{"#1", "a b", ""}, {"2", "c", "4"}});
  CHECK(read_cells(*table.open("a.txt", "1;\n;2\n ;3\n", arena, "[list]\ndelimiter = ';'"),
                   ColumnType::kInteger,
                   {},
                   EmptyCell::kMissing) == Cells{{"1", "-1"}, {"-1", "2"}, {"-1", "3"}});
  CHECK(read_cells(*table.open("a.txt", "1;\n;2\n", arena, "[list]\ndelimiter = ';'"),
                   ColumnType::kReal,
                   {},
                   EmptyCell::kMissing) == Cells{{"1", "nan"}, {"nan", "2"}});
}

TEST_CASE("list: random lines, every block size and number of threads, as brute force reads them") {
  for (std::uint64_t seed = 21; seed < 24; ++seed) {
    MESSAGE("seed ", seed);
    const RandomKey key(seed);
    std::uint64_t at = 0;
    const auto draw = [&](std::uint64_t below) { return key.below(below, at++); };
    const auto blanks = [&](std::uint64_t least) {
      std::string text;
      for (std::uint64_t i = least + draw(3); i > 0; --i) text += draw(2) == 0 ? ' ' : '\t';
      return text;
    };
    std::string text;
    for (int line = 0; line < 20'000; ++line) {
      if (draw(20) == 0) text += blanks(0) + "#" + std::string(draw(200), 'x');
      if (draw(20) != 0) {
        if (text.ends_with('x') || text.ends_with('#')) text += '\n';
        text += blanks(0) + std::to_string(static_cast<std::int64_t>(key.draw(at++)) >> draw(64)) +
                blanks(1) + std::string(1 + draw(30), static_cast<char>('a' + draw(26))) +
                blanks(1) + (draw(2) == 0 ? "\xc3\xa9" : "-") + std::to_string(draw(1'000)) +
                blanks(0);
      }
      text += draw(3) == 0 ? "\r\n" : "\n";
    }
    const Cells expected = by_blanks(text);
    for (const int threads : {1, 4}) {
      for (const char* block : {"4096B", "5003B", "64KiB", "2MiB"}) {
        CAPTURE(threads);
        CAPTURE(block);
        TextTable table;
        ThreadArena arena(threads);
        const auto keys = fmt::format("[list]\nblock = '{}'", block);
        CHECK((read_cells(*table.open("a.txt", text, arena, keys)) == expected));
        const auto first =
            read_cells(*table.open("a.txt", text, arena, keys), ColumnType::kInteger, {"c0"});
        REQUIRE(first.size() == expected.size());
        for (std::size_t i = 0; i < first.size(); ++i) REQUIRE(first[i][0] == expected[i][0]);
        CHECK(table.ledger.used() == 0);
        CHECK(table.ledger.peak() > 0);
      }
    }
  }
}

TEST_CASE("list: a fault names its line whatever the block size and the threads") {
  std::string text = "# first\n";
  for (int i = 0; i < 30'000; ++i)
    text += i == 25'000 ? "\n12x 1\n" : fmt::format("{} 1{}\n", i, i % 7 == 0 ? "\n%" : "");
  const std::string before = text.substr(0, text.find("12x"));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  for (const int threads : {1, 4}) {
    for (const char* block : {"4KiB", "1MiB"}) {
      TextTable table;
      ThreadArena arena(threads);
      const Error error = expect_error([&] {
        read_cells(*table.open("a.txt", text, arena, fmt::format("[list]\nblock = '{}'", block)),
                   ColumnType::kInteger);
      });
      CHECK(error.place().line == line);
      CHECK(error.message() == "column 'c0': '12x' is not an integer");
    }
  }
}

TEST_CASE("list: the line of a value that only the importer finds wrong") {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += fmt::format("{}#\n{} 1\n", i % 2 == 0 ? "\n" : "", i);
  TextTable table;
  ThreadArena arena(3);
  const auto reader = table.open("a.txt", text, arena, "[list]\nblock = '4KiB'");
  reader->select({{"c0", ColumnType::kInteger}});
  bool seen = false;
  for (TableChunk chunk; reader->next(chunk);) {
    if (chunk.first_row > 4'321 || chunk.first_row + chunk.rows <= 4'321) continue;
    seen = true;
    CHECK(chunk.columns[0].integers[4'321 - chunk.first_row] == 4'321);
    CHECK(reader->value_error(4'321, "c0", "is odd", "").place().line == 2 * 4'322 + 4'322 / 2);
  }
  CHECK(seen);
}

TEST_CASE("triples: a tab parts the fields where there is one, else white space") {
  TextTable table;
  ThreadArena arena(2);
  const auto tabs = table.open("a.triples", "New York\tis in\tthe US\n#x\t%y\tz\n", arena);
  CHECK(column_names(*tabs) == std::vector<std::string>{"head", "relation", "tail"});
  CHECK(read_cells(*tabs) == Cells{{"New York", "is in", "the US"}, {"#x", "%y", "z"}});
  CHECK(read_cells(*table.open("a.triples", "a b  c\nd\te f\n", arena)) ==
        Cells{{"a", "b", "c"}, {"d", "e", "f"}});
  CHECK(read_cells(*table.open("a.triples", "# c\na b c\n", arena, "[triples]\ncomment = '#'")) ==
        Cells{{"a", "b", "c"}});
}

TEST_CASE("multiplex: with labels and without") {
  TextTable table;
  ThreadArena arena(2);
  const auto three = table.open("a.multiplex", "1 10 20\n2 30 40\n", arena);
  CHECK(column_names(*three) == std::vector<std::string>{"type", "source", "target"});
  CHECK(read_cells(*three, ColumnType::kInteger, {"target", "type"}) ==
        Cells{{"20", "1"}, {"40", "2"}});
  const auto four = table.open("a.multiplex", "# x\n1 10 20 1\n", arena);
  CHECK(column_names(*four) == std::vector<std::string>{"type", "source", "target", "label"});
  CHECK(read_cells(*four) == Cells{{"1", "10", "20", "1"}});
}

TEST_CASE("OpenKE: a count, then head, tail and relation") {
  TextTable table;
  ThreadArena arena(2);
  const auto reader =
      table.open("train2id.txt", "3\n5 6 0\n7\t8\t1\r\n\n9 5 0\n", arena, "", "openke");
  CHECK(column_names(*reader) == std::vector<std::string>{"head", "tail", "relation"});
  CHECK(read_cells(*reader, ColumnType::kInteger, {"relation", "head"}) ==
        Cells{{"0", "5"}, {"1", "7"}, {"0", "9"}});
  std::string text = "5000\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + " 1 2\n";
  const Cells rows =
      read_cells(*table.open("train2id.txt", text, arena, "[openke]\nblock = '4KiB'", "openke"));
  CHECK(rows.size() == 5000);
  CHECK(rows[4999] == std::vector<std::string>{"4999", "1", "2"});
}

TEST_CASE("lists of real data, as brute force reads them") {
  ThreadArena arena(2);
  TextTable table;
  if (const auto text = real_data("wn18rr/train.txt")) {
    const Cells rows = read_cells(*table.open("a.txt", *text, arena, "", "triples"));
    CHECK(rows.size() == 86'835);
    CHECK((rows == by_blanks(*text, "")));
  }
  if (const auto text = real_data("amazon/test.txt")) {
    const auto keys = "[multiplex]\nblock = '4KiB'";
    const auto reader = table.open("a.txt", *text, arena, keys, "multiplex");
    CHECK(reader->columns().size() == 4);
    CHECK((read_cells(*reader, ColumnType::kInteger) == by_blanks(*text)));
  }
}

TEST_CASE("CSV: no header, and names by option") {
  TextTable table;
  ThreadArena arena(2);
  const std::string text = "\xef\xbb\xbf\r\n\r\n1,\"a,b\"\r\n2,c\r\n";
  const auto plain = table.open("a.csv", text, arena, "[csv]\nheader = 'no'");
  CHECK(column_names(*plain) == std::vector<std::string>{"c0", "c1"});
  CHECK(read_cells(*plain) == Cells{{"1", "a,b"}, {"2", "c"}});
  const std::string names = "columns = ['id', 'name']\n";
  const auto named = table.open("a.csv", text, arena, "[csv]\nheader = 'no'\n" + names);
  CHECK(read_cells(*named, ColumnType::kInteger, {"id"}) == Cells{{"1"}, {"2"}});
  const auto renamed = table.open("a.csv", "x,y\n1,2\n", arena, "[csv]\n" + names);
  CHECK(read_cells(*renamed, ColumnType::kText, {"name", "id"}) == Cells{{"2", "1"}});
  ImportFolder folder;
  folder.write("e.csv", "0,1\n1,2\n2,0\n");
  CHECK(folder.run(kEdges + "[csv]\nheader = 'no'\n").edges == 3);
}

TEST_CASE("bad input: lines of an edge list") {
  check_all({
      list("empty",
           "",
           "data|ROOT/raw/e.txt: the file is empty|it should hold lines of fields, such as '0 1'"),
      list("only comments",
           "# a\n\n% b\n",
           "data|ROOT/raw/e.txt: the file holds only comments and blank lines|it should hold lines "
           "of fields, such as '0 1'"),
      list("a number too many",
           "0 1\n# x\n0 1 2\n",
           fmt::format("data|ROOT/raw/e.txt:3: 3 fields, but the first line has 2|{}", kMany)),
      list("a number too few",
           "0 1 2\n\n0 1\n",
           fmt::format("data|ROOT/raw/e.txt:3: 2 fields, but the first line has 3|{}", kMany)),
      list("a field too many by a delimiter",
           "0;1\n0;1;\n",
           "data|ROOT/raw/e.txt:2: 3 fields, but the first line has 2|every line needs as many "
           "fields",
           "[list]\ndelimiter = ';'\n"),
      list("one column",
           "0\n1\n",
           "data|ROOT/raw/e.txt: 2 columns are needed, the file has 1|its columns: c0"),
      list("text",
           "0 1\n0 abc\n",
           "data|ROOT/raw/e.txt:2: column 'c1': 'abc' is not an integer|for ids that are text say "
           "ids = \"string\""),
      list("a fraction",
           "0 1\n0 1.5\n",
           "data|ROOT/raw/e.txt:2: column 'c1': '1.5' is not an integer|write whole numbers "
           "without a point"),
      list("beyond 64 bits",
           "0 1\n-9223372036854775809 1\n",
           "data|ROOT/raw/e.txt:2: column 'c0': '-9223372036854775809' is beyond a 64-bit "
           "integer|say ids = \"string\": ids of any length are kept as they are"),
      list("a sign alone",
           "0 1\n- 1\n",
           "data|ROOT/raw/e.txt:2: column 'c0': '-' is not an integer|for ids that are text say "
           "ids = \"string\""),
      list("an empty cell",
           "0,1\n0,\n",
           "data|ROOT/raw/e.txt:2: column 'c1': the cell is empty|every row needs a value here",
           "[list]\ndelimiter = ','\n"),
      list("a NUL byte",
           std::string("0 1\n0 \0\n", 8),
           "data|ROOT/raw/e.txt:2: a NUL byte|is this a text file?"),
      list("a NUL byte behind another fault",
           std::string("0 1\n0 x\n0 \0\n", 12),
           "data|ROOT/raw/e.txt:2: column 'c1': 'x' is not an integer|for ids that are text say "
           "ids = \"string\""),
      list("a NUL byte in the first comment",
           std::string("#\0\n0 1\n", 7),
           "data|ROOT/raw/e.txt:1: a NUL byte|is this a text file?"),
      list("a lone carriage return",
           "0 1\n0 1\r2 3\n",
           "data|ROOT/raw/e.txt:2: a carriage return in the middle of the line|end lines with LF "
           "or CRLF"),
      list("a lone carriage return in a comment",
           "0 1\n# x\r2 3\n",
           "data|ROOT/raw/e.txt:2: a carriage return in the middle of the line|end lines with LF "
           "or CRLF"),
      list("a line longer than a block",
           "0 1\n0 " + std::string(9'000, '1') + "\n",
           "data|ROOT/raw/e.txt:2: the line is longer than 4 KiB|is this a text file of lines? If "
           "so raise [list] block",
           "[list]\nblock = '4KiB'\n"),
      list("a first line longer than a block",
           std::string(90'000, '1') + "\n",
           "data|ROOT/raw/e.txt:1: the line is longer than 4 KiB|is this a text file of lines? If "
           "so raise [list] block",
           "[list]\nblock = '4KiB'\n"),
      list("UTF-16",
           std::string("\xff\xfe\x30\0 \0", 6),
           "data|ROOT/raw/e.txt: is UTF-16 text|save the file as UTF-8"),
      {"text that is not UTF-8",
       {{"e.txt", "a b\na \xc3(\n"}},
       "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.txt'\n",
       "data|ROOT/raw/e.txt:2: column 'c1': '\xc3(' is not valid UTF-8|save the file as UTF-8"},
      list("names for other columns",
           "# x\n0 1\n",
           "usage|ROOT/raw/e.txt:2: [list] columns names 3 columns, but the first line has 2 "
           "fields|name every column, in the order of the file",
           "[list]\ncolumns = ['a', 'b', 'c']\n"),
      list("a name twice",
           "0 1\n",
           "data|ROOT/raw/e.txt: there are 2 columns 'a'|rename one",
           "source_column = 'a'\n[list]\ncolumns = ['a', 'a']\n"),
      list("a delimiter of two",
           "0 1\n",
           "usage|[list] delimiter = \", \" is not one character beside those of numbers|for "
           "example \",\" or \"\\t\"; "
           "leave it out for any white space",
           "[list]\ndelimiter = ', '\n"),
      {"a table of a list",
       {{"e.txt", "0 1\n"}},
       "[[edges]]\nfile = 'e.txt#nodes'\n",
       "usage|ROOT/raw/e.txt: there is no table 'nodes': the file is one table|leave '#nodes' out"},
      {"triples of four",
       {{"e.triples", "a b c d\n"}},
       "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.triples'\n",
       "data|ROOT/raw/e.triples:1: 4 fields, but a triple has 3: head, relation, tail|for other "
       "lines say format = \"list\""},
      {"OpenKE without a count",
       {{"e.txt", "5 6 0\n7 8 1\n"}},
       "[[edges]]\nfile = 'e.txt'\nformat = 'openke'\n",
       "data|ROOT/raw/e.txt:1: the first line, '5 6 0', is not the number of rows|for rows from "
       "the first line on say format = \"list\", with [list] columns"},
      {"OpenKE cut short",
       {{"e.txt", "3\n5 6 0\n7 8 1\n"}},
       "[[edges]]\nfile = 'e.txt'\nformat = 'openke'\n",
       "data|ROOT/raw/e.txt:1: the first line says 3 rows, and there are 2|is the file whole? Else "
       "correct the number in its first line"},
      {"OpenKE of four",
       {{"e.txt", "1\n5 6 0 1\n"}},
       "[[edges]]\nfile = 'e.txt'\nformat = 'openke'\n",
       "data|ROOT/raw/e.txt:2: 4 fields, but a row has 3: head, tail, relation; or 2: name, "
       "number|for other lines say "
       "format = \"list\""},
      {"multiplex of two",
       {{"e.multiplex", "# x\n1 2\n"}},
       "[[edges]]\nfile = 'e.multiplex'\n",
       "data|ROOT/raw/e.multiplex:2: 2 fields, but an edge has 3 or 4: type, source, target, "
       "label|for other lines say format = \"list\""},
  });
}

TEST_CASE("bad input: CSV without a header") {
  const std::string keys = "[csv]\nheader = 'no'\n";
  check_all({
      edges("empty",
            "",
            "data|ROOT/raw/e.csv: the file is empty|it should hold lines like '0,1'",
            keys),
      edges("blank lines only",
            "\n\r\n",
            "data|ROOT/raw/e.csv: the file holds only blank lines|it should hold lines like '0,1'",
            keys),
      edges("too many fields",
            "0,1\n0,1,2\n",
            "data|ROOT/raw/e.csv:2: 3 fields, but the first line has 2|fix the line, or quote a "
            "field that holds the delimiter ','",
            keys),
      edges(
          "a header after all",
          "src,dst\n0,1\n",
          "data|ROOT/raw/e.csv:1: column 'c0': 'src' is not an integer|is this a header? Then take "
          "the line out, or for a first line say [csv] header = \"yes\"; only where ids are text "
          "say ids = \"string\"",
          keys),
      edges("names for other columns",
            "0,1\n",
            "usage|ROOT/raw/e.csv:1: [csv] columns names 1 columns, but the first line has 2 "
            "fields|name every column, in the order of the file",
            keys + "columns = ['a']\n"),
      edges("a first line with a NUL byte",
            std::string("0,\0\n", 4),
            "data|ROOT/raw/e.csv:1: the first line holds a NUL byte|is this a text file?",
            keys),
  });
}
