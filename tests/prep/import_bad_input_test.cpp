// Bad input: what each fault reads like, word for word, and that nothing is left behind: files,
// lines, columns, ids. Rows are "code|place: message|hint".
#include "import_bad_input.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("bad input: files and what they are") {
  check_all({
      {"missing file",
       {},
       kEdges,
       "data|ROOT/raw/e.csv: there is no such file (it is [[edges]] 'edge' file)|file names are "
       "relative to graph.toml's "
       "folder, its root key, or --root"},
      {"missing features",
       {kGoodEdges},
       "[[nodes]]\nfeatures.file = 'x.npy'\n" + kEdges,
       "data|ROOT/raw/x.npy: there is no such file (it is [[nodes]] 'node' features.file)|file "
       "names are relative to "
       "graph.toml's folder, its root key, or --root"},
      {"a folder",
       {{"e.csv/.hidden", ""}},
       kEdges,
       "data|ROOT/raw/e.csv: there are no files in this folder|check the name, and the folder it "
       "is looked for in (--root)"},
      {"unknown extension",
       {{"e.xyz", ""}},
       "[[edges]]\nfile = 'e.xyz'\n",
       "usage|ROOT/raw/e.xyz: no table format is known by the extension '.xyz'|known: "
       ".csv, .tsv, .txt, .edges, .edgelist, .el, .lst, .triples, .multiplex, .mtx, .metis, "
       ".graph, "
       ".npy, .npz, .parquet, .pq, .arrow, .feather, .ipc, .bin, .raw; or name it: format = one of "
       "csv, list, triples, openke, multiplex, mtx, metis, graphs, npy, npz, csr, parquet, arrow, "
       "raw"},
      {"unknown format",
       {kGoodEdges},
       kEdges + "format = 'csw'\n",
       "usage|there is no table format 'csw'|did you mean 'csv'? known: csv, list, triples, "
       "openke, multiplex, mtx, metis, graphs, npy, npz, csr, parquet, arrow, raw"},
      edges("empty file",
            "",
            "data|ROOT/raw/e.csv: the file is empty|the first line must name the columns"),
      edges("blank header",
            "\r\n0,1\n",
            "data|ROOT/raw/e.csv:1: the first line is blank|the first line must name the columns"),
      edges("no header",
            "0,1\n1,2\n",
            "data|ROOT/raw/e.csv:1: the first line holds numbers, not column names|put a header "
            "such as 'src,dst' before the data, or say [csv] header = \"no\""),
      edges("UTF-16",
            "\xff\xfes\0r\0c\0",
            "data|ROOT/raw/e.csv: is UTF-16 text|save the file as UTF-8"),
      edges("binary header",
            std::string("a\0b,c\n0,1\n", 10),
            "data|ROOT/raw/e.csv:1: the header holds a NUL byte|is this a text file?"),
      edges("header not UTF-8",
            "a\xff,b\n0,1\n",
            "data|ROOT/raw/e.csv:1: the header is not valid UTF-8|save the file as UTF-8"),
      edges("no rows at all", "src,dst\n", "data|type 'node' has no nodes|its files hold no rows"),
      edges("bad delimiter",
            kGoodEdges.second,
            "usage|[csv] delimiter = \"ab\" is not one character|for example \";\" or \"\\t\"",
            "[csv]\ndelimiter = 'ab'\n"),
      edges("a line longer than a block",
            "src,dst\n0,1\n0," + std::string(9'000, ' ') + "1\n",
            "data|ROOT/raw/e.csv:3: the line is longer than 4 KiB|is this a CSV file? If so raise "
            "[csv] block",
            "[csv]\nblock = '4KiB'\n"),
      edges("a header longer than a block",
            std::string(70'000, 'x') + ",b\n0,1\n",
            "data|ROOT/raw/e.csv:1: the line is longer than 4 KiB|is this a CSV file? If so raise "
            "[csv] block",
            "[csv]\nblock = '4KiB'\n"),
  });
}

TEST_CASE("bad input: lines of a CSV file") {
  check_all({
      edges("too few fields",
            "src,dst\n0,1\n2\n",
            "data|ROOT/raw/e.csv:3: 1 fields, but the header names 2 columns|fix the line, or "
            "quote a field that holds the "
            "delimiter ','"),
      edges("too few fields in a text shorter than a row",
            "src,dst,weight\n0\n",
            "data|ROOT/raw/e.csv:2: 1 fields, but the header names 3 columns|fix the line, or "
            "quote a field that holds the delimiter ','"),
      edges("too many fields",
            "src,dst\n0,1\n\n2,3,4\n",
            "data|ROOT/raw/e.csv:4: 3 fields, but the header names 2 columns|fix the line, or "
            "quote a field that holds the "
            "delimiter ','"),
      {"tabs",
       {{"e.tsv", "a\tb\n0\t1\t2\n"}},
       "[[edges]]\nfile = 'e.tsv'\n",
       "data|ROOT/raw/e.tsv:2: 3 fields, but the header names 2 columns|fix the line, or quote a "
       "field that holds the "
       "delimiter '\\t'"},
      edges("text where a number is asked",
            "src,dst\n0,1\n0,abc\n",
            "data|ROOT/raw/e.csv:3: column 'dst': 'abc' is not an integer|for ids that are text "
            "say ids = \"string\""),
      edges("what Arrow takes for an integer is not blamed",
            "src,dst\n0x10,1\n 2 ,3\n\"4\",5\n6,7x\n",
            "data|ROOT/raw/e.csv:5: column 'dst': '7x' is not an integer|for ids that are text say "
            "ids = \"string\""),
      edges("fraction where an integer is asked",
            "src,dst\n0,1.0\n",
            "data|ROOT/raw/e.csv:2: column 'dst': '1.0' is not an integer|write whole numbers "
            "without a point"),
      edges("integer overflow",
            "src,dst\n0,9223372036854775808\n",
            "data|ROOT/raw/e.csv:2: column 'dst': '9223372036854775808' is beyond a 64-bit "
            "integer|say ids = \"string\": ids of any length are kept as they are"),
      edges("empty cell",
            "src,dst\n0,1\n,1\n",
            "data|ROOT/raw/e.csv:3: column 'src': the cell is empty|every row needs a value here"),
      edges("NUL byte",
            std::string("src,dst\n0,1\n0,\0\n", 15),
            "data|ROOT/raw/e.csv:3: column 'dst': a NUL byte|is this a text file?"),
      edges("control characters are shown",
            "src,dst\n0,\x01\x7f\n",
            "data|ROOT/raw/e.csv:2: column 'dst': '\\x01\\x7f' is not an integer|for ids that are "
            "text say ids = \"string\""),
      edges("long values are clipped",
            "src,dst\n0," + std::string(500, 'x') + "\n",
            "data|ROOT/raw/e.csv:2: column 'dst': '" + std::string(40, 'x') +
                "...' is not an integer|for ids that are text say ids = \"string\""),
      edges("a quote that does not end",
            "src,dst\n0,1\n0,\"1\n",
            "data|ROOT/raw/e.csv:3: column 'dst': a quoted field does not end on its line|close "
            "the quote, or double a quote "
            "inside it"),
      edges("a lone carriage return",
            "src,dst\n0,1\r2,3\n",
            "data|ROOT/raw/e.csv:2: a carriage return in the middle of the line|end lines with LF "
            "or CRLF"),
      edges("lone carriage returns",
            "src,dst\r0,1\r2,3\r",
            "data|ROOT/raw/e.csv:1: a carriage return in the middle of the header|end lines with "
            "LF or CRLF"),
      {"string id not UTF-8",
       {{"e.csv", "src,dst\na,b\na,\xc3(\n"}},
       "[[nodes]]\nids = 'string'\n" + kEdges,
       "data|ROOT/raw/e.csv:3: column 'dst': '\xc3(' is not valid UTF-8|save the file as UTF-8"},
      {"string id with NUL",
       {{"e.csv", std::string("src,dst\na,b\nc,d\0e\n", 18)}},
       "[[nodes]]\nids = 'string'\n" + kEdges,
       "data|ROOT/raw/e.csv:3: column 'dst': a NUL byte|is this a text file?"},
      {"empty string id",
       {{"e.csv", "src,dst\na,b\na,\n"}},
       "[[nodes]]\nids = 'string'\n" + kEdges,
       "data|ROOT/raw/e.csv:3: column 'dst': the id is empty|every row needs an id here"},
  });
}

TEST_CASE("bad input: columns") {
  check_all({
      edges("missing column",
            "src,dest\n0,1\n",
            "data|ROOT/raw/e.csv: there is no column 'dst'|did you mean 'dest'? its columns: src, "
            "dest",
            "target_column = 'dst'\n"),
      edges("one column only",
            "src\n0\n",
            "data|ROOT/raw/e.csv: 2 columns are needed, the file has 1|its columns: src"),
      edges("two columns of one name",
            "a,b,a\n0,1,2\n",
            "data|ROOT/raw/e.csv: there are 2 columns 'a'|rename one",
            "source_column = 'a'\n"),
      edges("source and target the same",
            "a,b\n0,1\n",
            "data|ROOT/raw/e.csv: source and target are both column 'a'|set source_column and "
            "target_column",
            "target_column = 'a'\n"),
      {"edges of three numbers",
       {{"e.npy", npy("<i8", "(4, 3)", std::string(96, '\0'))}},
       "[[edges]]\nfile = 'e.npy'\n",
       "data|ROOT/raw/e.npy: edges need an array of [E, 2], this is [4, 3]|one row an edge: "
       "source, target"},
      {"edges of one dimension",
       {{"e.npy", npy_ids({1, 2, 3})}},
       "[[edges]]\nfile = 'e.npy'\n",
       "data|ROOT/raw/e.npy: edges need an array of [E, 2], this is [3, 1]|one row an edge: "
       "source, target"},
      {"edges of floats",
       {{"e.npy", floats(1)}},
       "[[edges]]\nfile = 'e.npy'\n",
       "data|ROOT/raw/e.npy: holds f32, where integers are asked|save a.astype('int64')"},
      {"string ids of fractions",
       {{"e.npy", npy("<f8", "(1, 2)", std::string(16, '\0'))}},
       "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.npy'\n",
       "data|ROOT/raw/e.npy: holds f64, where texts are asked|whole numbers can be read as texts: "
       "save a.astype('int64')"},
      nodes("ids of a matrix",
            "n.npy",
            floats(1),
            "ids = 'integer'\nid_list.file = 'n.npy'",
            "data|ROOT/raw/n.npy: ids need one number a row, this has 2|save an array of one "
            "dimension"),
      nodes("wrong dtype",
            "x.npy",
            npy("<c8", "(1, 1)", std::string(8, '\0')),
            "features.file = 'x.npy'",
            "data|ROOT/raw/x.npy: dtype '<c8' is not supported|save f16, f32, f64, whole "
            "numbers of 8 to 64 bits or bool"),
      nodes("cut short",
            "x.npy",
            floats(1).substr(0, 140),
            "features.file = 'x.npy'",
            "data|ROOT/raw/x.npy: the shape (3, 2) of '<f4' asks for 152 bytes, the file has "
            "140|the file was cut short or is "
            "damaged: save it again"),
  });
}

TEST_CASE("bad input: ids") {
  check_all({
      edges("negative",
            "src,dst\n0,1\n0,-3\n",
            "data|ROOT/raw/e.csv:3: column 'dst': the id -3 is negative|dense ids run from 0 to "
            "count - 1; for others say ids "
            "= \"integer\""),
      {"out of range by count",
       {kGoodEdges},
       "[[nodes]]\ncount = 2\n" + kEdges,
       "data|ROOT/raw/e.csv:3: column 'dst': the id 2 is out of range: type 'node' has 2 nodes by "
       "count|dense ids run from 0 "
       "to count - 1; for others say ids = \"integer\""},
      nodes("out of range by features",
            "x.npy",
            npy_rows(2, 1, {1, 2}),
            "features.file = 'x.npy'",
            "data|ROOT/raw/e.csv:3: column 'dst': the id 2 is out of range: type 'node' has 2 "
            "nodes by x.npy|dense ids run "
            "from 0 to count - 1; for others say ids = \"integer\""),
      {"negative beside a count",
       {{"e.csv", "src,dst\n-1,0\n"}},
       "[[nodes]]\ncount = 2\n" + kEdges,
       "data|ROOT/raw/e.csv:2: column 'src': the id -1 is negative|dense ids run from 0 to count - "
       "1; for others say ids = "
       "\"integer\""},
      {"out of range in .npy",
       {{"e.npy", npy("<i4", "(2, 2)", bytes_of_values<std::int32_t>({0, 1, 7, 1}))}},
       "[[nodes]]\ncount = 2\n[[edges]]\nfile = 'e.npy'\n",
       "data|ROOT/raw/e.npy: row 1: the id 7 is out of range: type 'node' has 2 nodes by "
       "count|dense ids run from 0 to count - "
       "1; for others say ids = \"integer\""},
      nodes("unknown integer id",
            "n.csv",
            "id\n0\n1\n",
            "ids = 'integer'\nid_list.file = 'n.csv'",
            "data|ROOT/raw/e.csv:3: column 'dst': no node of type 'node' has the id 2|the ids are "
            "those of n.csv; unknown_ids = \"skip\" leaves out "
            "what has others, \"create\" makes nodes of them"),
      nodes("unknown string id",
            "n.csv",
            "id\n0\n1\n",
            "ids = 'string'\nid_list.file = 'n.csv'",
            "data|ROOT/raw/e.csv:3: column 'dst': no node of type 'node' has the id '2'|the ids "
            "are those of n.csv; unknown_ids = \"skip\" leaves out "
            "what has others, \"create\" makes nodes of them"),
      nodes("id listed twice",
            "n.csv",
            "id\n0\n1\n0\n2\n",
            "ids = 'integer'\nid_list.file = 'n.csv'",
            "data|ROOT/raw/n.csv:4: column 'id': the id 0 stands here again|each node is listed "
            "once"),
      edges("duplicate edges",
            "src,dst\n0,1\n1,0\n0,1\n",
            "data|relation 'node__edge__node' has the edge 0 -> 1 more than once|set duplicates = "
            "\"drop\" to keep the first of "
            "each, or \"keep\" to keep all",
            "duplicates = 'error'\n"),
  });
}
