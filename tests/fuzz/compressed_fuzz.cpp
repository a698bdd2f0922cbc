// Compressed text: bytes behind the first ones of gzip and zstd; and any text, compressed, reads as
// it does plain.
#include "fuzz/memory_file.h"
#include "fuzz/read_table.h"
#include "fuzz/targets.h"
#include "prep/table/list_reader.h"
#include "prep/table/metis_reader.h"

#include <zlib.h>
#include <zstd.h>

namespace sluice::fuzz {
namespace {

std::string gzip(std::string_view text) {
  constexpr int kGzip = 16;  // added to the window's bits
  z_stream stream{};
  expect(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
         "zlib begins");
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.erase(stream.total_out);
  deflateEnd(&stream);
  expect(status == Z_STREAM_END, "zlib compresses");
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

template <class Reader>
std::unique_ptr<TableReader> open(const TableSource& source, std::uint64_t block) {
  typename Reader::Options options;
  options.block.bytes = block;
  return std::make_unique<Reader>(options, source);
}

// Without the file's name, which differs.
std::string reason_of(const Reading& reading) {
  return reading.refusal ? reading.refusal->message() : "";
}

bool is_compressed_text(std::string_view text) {
  for (const std::string_view magic : {"\x1f\x8b",
                                       "\x28\xb5\x2f\xfd",
                                       "\xfd"
                                       "7z",
                                       "PK",
                                       "\x04\x22",
                                       "BZh"})
    if (text.starts_with(magic)) return true;
  return text.size() > 1 && text.substr(1).starts_with("\x2a\x4d\x18");
}

template <class Reader>
void read_both(std::string_view text, const std::string& compressed) {
  const std::vector<Asked> asked{{ColumnType::kText}, {ColumnType::kInteger}};
  const MemoryFile plain_file(text), compressed_file(compressed);
  const Reading plain = read_table(open<Reader>, {plain_file.path()}, asked, {1, 4096});
  const Reading other = read_table(open<Reader>, {compressed_file.path()}, asked, {1, 4096});
  // What was compressed before, or begins so, is refused in other words.
  if (is_compressed_text(text)) return;
  if (plain.refusal && other.refusal && reason_of(plain) == reason_of(other)) return;
  check_same(plain, other, "plain text and compressed");
}

void body(std::string_view bytes) {
  Input input(bytes);
  const unsigned choice = input.choose(7);
  const std::string text(input.rest());
  if (choice < 4) {
    constexpr std::string_view kFronts[] = {{},
                                            {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10},
                                            {"\x28\xb5\x2f\xfd", 4},
                                            {"\x50\x2a\x4d\x18", 4}};
    const std::string bytes_of_file = std::string(kFronts[choice]) + text;
    const MemoryFile file(bytes_of_file);
    check_blocks(open<ListReader>, {file.path()}, {{ColumnType::kText}}, 64);
  } else {
    if (choice == 4) read_both<ListReader>(text, gzip(text));
    if (choice == 5) read_both<MetisReader>(text, zstd(text));
    if (choice == 6) read_both<MetisReader>(text, gzip(text));
  }
}

std::vector<std::string> seeds() {
  const std::string list = "0 1\n1 2\n", twice = gzip(list) + gzip(list);
  return {"0" + gzip(list),
          "1" + gzip(list).substr(10),
          "2" + zstd(list).substr(4),
          "0" + twice + std::string(8, '\0'),
          "0" + zstd(list) + zstd(list),
          std::string("3\x02\0\0\0xx", 7) + zstd(list),
          "0" + gzip(gzip(list)),
          "4" + list,
          "5" + std::string("2 1\n2\n1\n"),
          "6" + std::string("2 1\n2\n1\n%") + std::string(4095 - 9, 'c'),
          "5" + std::string("2 1\n2\n1\n%") + std::string(4095 - 9, 'c')};
}

}  // namespace

Target compressed_target() {
  return {"compressed", body, seeds};
}

}  // namespace sluice::fuzz
