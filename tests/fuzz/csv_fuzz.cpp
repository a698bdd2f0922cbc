// CSV: header, options and rows; what our own parser reads, Arrow's reads the same way.
#include "fuzz/memory_file.h"
#include "fuzz/read_table.h"
#include "fuzz/targets.h"
#include "prep/table/csv_reader.h"

#include <utility>

namespace sluice::fuzz {
namespace {

/// Asks for one column as a text too, more often than our own parser takes: so Arrow reads all.
class WithText final : public TableReader {
 public:
  explicit WithText(std::unique_ptr<TableReader> inner)
      : TableReader({inner->path()}), inner_(std::move(inner)) {}

  const std::vector<ColumnInfo>& columns() const override { return inner_->columns(); }
  std::optional<std::uint64_t> num_rows() const override { return inner_->num_rows(); }
  void select(const std::vector<ColumnRequest>& requests) override {
    std::vector<ColumnRequest> more = requests;
    more.insert(more.end(), kTexts, {requests.front().name, ColumnType::kText});
    inner_->select(more);
  }
  bool next(TableChunk& chunk) override {
    if (!inner_->next(chunk)) return false;
    chunk.columns.resize(chunk.columns.size() - kTexts);
    return true;
  }

 private:
  static constexpr std::size_t kTexts = 4;

  std::optional<std::int64_t> line_of(std::uint64_t row) const override {
    const Error error = inner_->value_error(row, "column", "reason", "hint");
    return error.place().line;
  }

  std::unique_ptr<TableReader> inner_;
};

void body(std::string_view bytes) {
  Input input(bytes);
  CsvReader::Options options;
  options.header = input.choose(2) == 0 ? CsvHeader::kYes : CsvHeader::kNo;
  constexpr const char* kDelimiters[] = {"", "\t", ";", " ", "1", "-", "|"};
  options.delimiter = kDelimiters[input.choose(7)];
  if (const unsigned named = input.choose(4); named > 1) options.columns.assign(named, "name");
  if (options.columns.size() > 1) options.columns.back() = "other";
  const std::vector<Asked> asked = choose_asked(input);

  const MemoryFile file(input.rest());
  const TableSource source{file.path()};
  const Open open = [&](const TableSource& full, std::uint64_t block) {
    CsvReader::Options of_block = options;
    of_block.block.bytes = block;
    return std::make_unique<CsvReader>(of_block, full);
  };
  const Reading ours = check_blocks(open, source, asked, 64);
  const Reading arrows =
      read_table([&](const TableSource& full,
                     std::uint64_t block) { return std::make_unique<WithText>(open(full, block)); },
                 source,
                 asked,
                 {2});
  check_same(ours, arrows, "our parser and Arrow's");
}

std::vector<std::string> seeds() {
  // header, delimiter, columns, two columns asked for; then the text
  return {"00000src,dst\n0,1\n1,2\n",
          "00000src,dst\r\n0,1\r\n\r\n1,2\r\n",
          "00011src,weight\n-1.5,1e300\nnan,-inf\n0x1F,+2\n",
          "00022name,text\n\"a, \"\"b\"\"\",c\n\xc3\xa4,\n",
          "00033a,b,c\n,1,\n 7 ,,3\n1,2,3\n",
          "00034a,b\n,\n1,\n",
          "1000012,13\n-14,123456789012345678901\n",
          "11000\t1\n2\t3\n",
          "02000a;b\n1;2\n3;4;5\n",
          "03000a b\n1 2\n",
          "14011213\n415\n",
          "15011-\n2-3\n",
          "0032012|x\n3|y",
          "00022\xef\xbb\xbf\"a\",\"b\"\n\"1\",\"2\n",
          "00020a,b\n\"x\ny\",1\n",
          "1002099999999999999999,\n",
          "00000a,b,c\n0\n",
          "00000a\n1\r2\n"};
}

}  // namespace

Target csv_target() {
  return {"csv", body, seeds, {"nan", "inf", "0x", "1e400", "\r\n", "\"\"", "\xef\xbb\xbf", "-0"}};
}

}  // namespace sluice::fuzz
