// Edge lists, triples, OpenKE's and multiplex edges.
#include "fuzz/memory_file.h"
#include "fuzz/read_table.h"
#include "fuzz/targets.h"
#include "prep/table/list_reader.h"

namespace sluice::fuzz {
namespace {

template <class Reader>
void read_list(typename Reader::Options options,
               const std::vector<Asked>& asked,
               std::string_view text) {
  const MemoryFile file(text);
  check_blocks(
      [&](const TableSource& full, std::uint64_t block) {
        typename Reader::Options of_block = options;
        of_block.block.bytes = block;
        return std::make_unique<Reader>(of_block, full);
      },
      {file.path()},
      asked,
      64);
}

void body_of_openke(std::string_view bytes) {
  Input input(bytes);
  const std::vector<Asked> asked = choose_asked(input);
  read_list<OpenKeReader>({}, asked, input.rest());
}

template <class Reader>
void body(std::string_view bytes) {
  Input input(bytes);
  typename Reader::Options options;
  constexpr const char* kDelimiters[] = {"", "\t", ",", " ", ":"};
  options.delimiter = kDelimiters[input.choose(5)];
  constexpr const char* kComments[] = {"#%", "", "/", " "};
  if (const unsigned choice = input.choose(4); choice != 0) options.comment = kComments[choice];
  const std::vector<Asked> asked = choose_asked(input);
  read_list<Reader>(options, asked, input.rest());
}

std::vector<std::string> list_seeds() {
  // delimiter, comment, two columns asked for; then the text
  return {"0000# Nodes: 3\n0 1\n1\t2\n\n",
          "0001% sym\r\n 1 2.5 \r\n2 -1e-3\r\n",
          "0022a b\nc \xc3\xa4\n",
          "10220 1\t2\n3\t\n",
          "20551,\n,2\n",
          "30000 1 2\n3 4 5\n",
          "4100#:1\n0x10:2\n",
          "020018446744073709551615 1\n/ x\n",
          "0000\xef\xbb\xbf"
          "1 2\n3 4 5\n",
          "00001 2\n# a\rb\n",
          "03001 2\n 3 4\n"};
}

std::vector<std::string> triple_seeds() {
  return {"0022paris\tcapital of\tfrance\n", "0022a r b\nc r d\n", "0000# 1 2\n", "0022a b\n"};
}

std::vector<std::string> openke_seeds() {
  // two columns asked for; then the text
  return {"002\n1 2 0\n2 3 1\n", "003\n1\t2\t0\r\n", "001 2 0\n", "00-1\n", "00\n\n1\n0 0 0\n"};
}

std::vector<std::string> multiplex_seeds() {
  return {"00001 2 3\n2 3 4\n", "00001 2 3 1\n1 3 2 0\n", "0000# c\n1 2\n", "20001,2,3\n"};
}

}  // namespace

Target list_target() {
  return {"list", body<ListReader>, list_seeds, {"nan", "inf", "0x", "1e400", "\r\n", "# "}};
}

Target triples_target() {
  return {"triples", body<TriplesReader>, triple_seeds};
}

Target openke_target() {
  return {"openke", body_of_openke, openke_seeds};
}

Target multiplex_target() {
  return {"multiplex", body<MultiplexReader>, multiplex_seeds};
}

}  // namespace sluice::fuzz
