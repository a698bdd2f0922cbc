// .npz and raw: arrays in a stored zip that is sound around the fuzzer's bytes, a sparse matrix of
// SciPy's among them, and zips as they come; and bytes read as [raw] says.
#include "fuzz/memory_file.h"
#include "fuzz/npy_bytes.h"
#include "fuzz/read_table.h"
#include "fuzz/targets.h"
#include "fuzz/zip_bytes.h"
#include "prep/table/npz_reader.h"
#include "prep/table/raw_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace sluice::fuzz {
namespace {

template <class Reader>
void read_array(const typename Reader::Options& options, const MemoryFile& file) {
  const Open open = [&](const TableSource& full, std::uint64_t /*block*/) {
    return std::make_unique<Reader>(options, full);
  };
  for (const ColumnType type :
       {ColumnType::kInteger, ColumnType::kReal, ColumnType::kText, ColumnType::kRaw})
    read_table(open, {file.path()}, {{type}});
}

/// The next line of `text`, which is taken out.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Members with names of the fuzzer's, a line each, and a share of its bytes.
std::vector<ZipEntry> choose_members(Input& input) {
  const std::size_t count = 1 + input.choose(3);
  std::string_view text = input.rest();
  std::vector<ZipEntry> members(count);
  for (ZipEntry& member : members) member.name = take_line(text);
  const std::size_t share = text.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    Input part(text.substr(i * share, share));
    members[i].content = choose_npy(part);
  }
  return members;
}

/// The parts of a matrix: format, shape, and bytes of numbers that are dealt out.
std::vector<ZipEntry> choose_sparse(Input& input) {
  constexpr std::string_view kFormats[] = {"csr", "csc", "coo", "bsr", "dia"};
  const std::string_view format = kFormats[input.choose(5)];
  const bool wide = input.choose(2) == 1;
  const std::size_t entries = input.choose(8), pointers = input.choose(8);
  const std::size_t size = wide ? 8 : 4;
  std::string data(input.rest());
  data.resize(std::max(data.size(), (3 * entries + pointers) * size + 16), '\1');
  const std::string_view descr = wide ? "<i8" : "<i4";
  std::size_t at = 0;
  const auto array = [&](std::string_view dtype, std::size_t count, std::size_t element) {
    const std::string_view part = std::string_view(data).substr(at, count * element);
    at += part.size();
    return npy_file(dtype, fmt::format("({},)", count), part);
  };
  std::vector<ZipEntry> parts{{"shape.npy", array("<i8", 2, 8)},
                              {"format.npy", npy_file("|S3", "()", format)},
                              {"data.npy", array(descr, entries, size)}};
  if (format == "coo") {
    parts.push_back({"row.npy", array(descr, entries, size)});
    parts.push_back({"col.npy", array(descr, entries, size)});
  } else {
    parts.push_back({"indices.npy", array(descr, entries, size)});
    parts.push_back({"indptr.npy", array(descr, pointers, size)});
  }
  return parts;
}

void npz_body(std::string_view bytes) {
  Input input(bytes);
  const unsigned choice = input.choose(3);
  std::string npz;
  if (choice == 0) npz = input.rest();
  if (choice == 1) npz = stored_zip(choose_members(input));
  if (choice == 2) npz = stored_zip(choose_sparse(input));
  read_array<NpzReader>({}, MemoryFile(npz));
}

std::string numbers(std::initializer_list<std::int32_t> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(std::int32_t)};
}

std::vector<std::string> npz_seeds() {
  const std::string array = npy_file("<i8", "(2,)", std::string(16, '\1'));
  const std::string shape = numbers({2, 0, 3, 0});
  const std::string three = numbers({1, 2, 3}), columns = numbers({0, 2, 1});
  return {"0" + stored_zip({{"a.npy", array}, {"b.npy", array}}),
          "10a.npy\n0" + array,
          "11a.npy\nb.npy\n2721" + std::string(12, '\2') + "2721" + std::string(12, '\3'),
          "2003"
          "3" +
              shape + three + columns + numbers({0, 1, 3}),
          "2103"
          "4" +
              shape + three + columns + numbers({0, 1, 1, 3}),
          "2203"
          "0" +
              shape + three + numbers({0, 1, 1}) + columns,
          "2003"
          "3" +
              shape + three + columns + numbers({0, -1, 3}),
          "2301"
          "1" +
              shape};
}

void raw_body(std::string_view bytes) {
  Input input(bytes);
  constexpr DType kDTypes[] = {DType::kI64,
                               DType::kI32,
                               DType::kU64,
                               DType::kU32,
                               DType::kU8,
                               DType::kI8,
                               DType::kF64,
                               DType::kF32,
                               DType::kF16};
  RawReader::Options options;
  options.dtype = kDTypes[input.choose(9)];
  options.width = 1 + static_cast<std::int64_t>(input.choose(5));
  options.header.bytes = input.choose(16);
  read_array<RawReader>(options, MemoryFile(input.rest()));
}

std::vector<std::string> raw_seeds() {
  return {"010" + std::string(32, '\1'),
          "201" + std::string(17, '\xff'),
          "800" + std::string(6, '\x7c')};
}

}  // namespace

Target npz_target() {
  return {"npz",
          npz_body,
          npz_seeds,
          {"indptr.npy\n", "data.npy\n", "'shape': ", "(1, 2)", "'<i4'", "PK\x03\x04"}};
}

Target raw_target() {
  return {"raw", raw_body, raw_seeds};
}

}  // namespace sluice::fuzz
