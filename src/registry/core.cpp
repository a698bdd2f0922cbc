#include "registry/core.h"

#include "prep/generate/rmat.h"
#include "prep/generate/sbm.h"
#include "prep/table/csv_reader.h"
#include "prep/table/npy_reader.h"

namespace sluice {

TableFormats table_formats() {
  TableFormats formats;
  formats.add<CsvReader>("csv", "comma- or tab-separated text with a header (.csv, .tsv)");
  formats.add<NpyReader>("npy", "a NumPy array of numbers, one or two dimensions (.npy)");
  return formats;
}

Catalog<Generator> builtin_generators() {
  Catalog<Generator> generators("generator");
  generators.add<RmatGenerator>("rmat", "R-MAT: a power-law graph of 2^scale nodes");
  generators.add<SbmGenerator>("sbm", "stochastic block model: nodes of a class prefer each other");
  return generators;
}

}  // namespace sluice
