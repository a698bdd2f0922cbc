// .npy: the header by itself and the whole file, read as integers, reals and raw bytes.
#include "core/npy_header.h"
#include "fuzz/memory_file.h"
#include "fuzz/npy_bytes.h"
#include "fuzz/read_table.h"
#include "fuzz/targets.h"
#include "prep/table/npy_reader.h"

#include <algorithm>
#include <span>

namespace sluice::fuzz {
namespace {

void body(std::string_view bytes) {
  Input input(bytes);
  const std::string npy = choose_npy(input);
  const auto front = std::as_bytes(std::span(npy)).first(std::min(npy.size(), kNpyMaxHeaderBytes));
  for (const std::uint64_t claimed : {std::uint64_t{npy.size()}, ~std::uint64_t{0}}) {
    const auto header = parse_npy_header(front, claimed, "a.npy");
    if (!header) check_error(header.error());
  }
  const MemoryFile file(npy);
  const Open open = [](const TableSource& full, std::uint64_t /*block*/) {
    return std::make_unique<NpyReader>(NpyReader::Options{}, full);
  };
  for (const ColumnType type :
       {ColumnType::kInteger, ColumnType::kReal, ColumnType::kText, ColumnType::kRaw})
    read_table(open, {file.path()}, {{type}});
}

std::vector<std::string> seeds() {
  const std::string data(48, '\x01');
  return {"0" + npy_file("<i8", "(6,)", data),
          "0" + npy_file("<f4", "(3, 4)", data),
          "1{'descr': '<u8', 'fortran_order': True, 'shape': (3, 2), }\n" + data,
          "1{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n" + data,
          "1{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (6,), }\n" + data,
          "1{'shape': (), 'descr': '>i4', 'fortran_order': False}\n",
          "1{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000000000, 0), }\n",
          "1{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296), }\n",
          "2930" + std::string(16, '\xff'),
          "2021" + data,
          "2701" + data};
}

}  // namespace

Target npy_target() {
  return {"npy",
          body,
          seeds,
          {"'descr': ",
           "'fortran_order': ",
           "'shape': ",
           "True",
           "False",
           "(1, 2)",
           "'<f4'",
           "'|u1'",
           "'<i8'"}};
}

}  // namespace sluice::fuzz
