// The formats whose lines may be of any length: METIS, MatrixMarket and texts of many graphs, all
// their tables.
#include "fuzz/memory_file.h"
#include "fuzz/read_table.h"
#include "fuzz/targets.h"
#include "prep/table/graphs_reader.h"
#include "prep/table/metis_reader.h"
#include "prep/table/mtx_reader.h"

#include <initializer_list>

namespace sluice::fuzz {
namespace {

template <class Reader>
void read_tables(std::string_view bytes, std::initializer_list<const char*> tables) {
  Input input(bytes);
  const std::vector<Asked> asked = choose_asked(input);
  const MemoryFile file(input.rest());
  const Open open = [&](const TableSource& full, std::uint64_t block) {
    typename Reader::Options options;
    options.block.bytes = block;
    return std::make_unique<Reader>(options, full);
  };
  for (const char* table : tables) {
    TableSource source{file.path()};
    source.table = table;
    check_blocks(open, source, asked, 4096);
  }
}

void metis_body(std::string_view bytes) {
  read_tables<MetisReader>(bytes, {"", "nodes"});
}

void graphs_body(std::string_view bytes) {
  read_tables<GraphsReader>(bytes, {"edges", "nodes", "graphs"});
}

void mtx_body(std::string_view bytes) {
  read_tables<MtxReader>(bytes, {""});
}

/// Blanks and a line of a comment, so that what follows lies across the small blocks.
std::string filler(std::size_t bytes) {
  return std::string(bytes, ' ');
}

std::vector<std::string> metis_seeds() {
  // two columns asked for; then the text
  return {"003 2\n2\n1 3\n2\n",
          "012 1 011 2\n7 8 2 5\n1 2 1 5\n",
          "222 1 100\r\n5 2\r\n6 1\r\n",
          "00% a\n2 1 1\n2 0.5\n% b\n1 0.5\n\n\n",
          "001 0 010 1001\n",
          "000 0\n",
          "00-1 0x7fffffffffffffff 0 0 0\n",
          "003 2" + filler(4086) + "\n2\n1 3\n2\n",
          "002 1\n2\n1\n%" + std::string(4082, 'c'),
          "002 1\n2\n1\n%" + std::string(4085, 'c') + "\rx"};
}

std::vector<std::string> graphs_seeds() {
  return {"002\n3 0\n0 2 1 2\n1 1 0\n2 1 0\n1 1\n0 0\n",
          "011\n2 1\n0 1 1 0.5 2\n1 1 0 1.5 3\n",
          "001\r\n0 7\r\n",
          "222\n1 a\nx 0\n1 b\ny 0\n",
          "001\n1 0\n0 -9223372036854775808 1\n",
          "001\n1 0\n0 0 " + filler(4090) + "1\n"};
}

std::vector<std::string> mtx_seeds() {
  const std::string banner = "%%MatrixMarket matrix coordinate ";
  return {"01" + banner + "real general\n% c\n4 4 2\n1 2 0.5\n4 1 -1e3\n",
          "00" + banner + "pattern symmetric\r\n3 3 2\r\n2 1\r\n3 3\r\n",
          "02" + banner + "integer skew-symmetric\n2 2 1\n2 1 +7\n",
          "00" + banner + "pattern general\n2 2 9223372036854775807\n1 1\n",
          "00" + banner + "pattern general\n%" + filler(4090) + "\n2 2 1\n1 2\n",
          "00%%MatrixMarket matrix array real general\n1 1\n1\n",
          "001 2 3\n"};
}

}  // namespace

Target metis_target() {
  return {"metis", metis_body, metis_seeds, {"011", "100", "-1", "0x"}};
}

Target mtx_target() {
  return {"mtx", mtx_body, mtx_seeds, {"%%MatrixMarket ", "symmetric", "pattern", "-1"}};
}

Target graphs_target() {
  return {"graphs", graphs_body, graphs_seeds, {"-1", "0x", "1 0\n"}};
}

}  // namespace sluice::fuzz
