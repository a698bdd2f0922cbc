// attach: rows of a file as a feature table of a node type that is there, as a new generation: what
// another run's model makes of all nodes, or vectors that another program learned. All else is
// taken over without a copy.
#pragma once

#include "prep/prep_context.h"
#include "storage/format/staging.h"

#include <sluice/dtype.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct AttachOptions {
  std::filesystem::path dataset;
  /// .safetensors with `rows`, f32 [nodes, columns], a row a node in the dataset's order; `ids`,
  /// where it has some, say so: i64 [nodes], or u8 and `ids.offsets`, i64 [nodes + 1].
  std::filesystem::path file;
  std::string node_type;                 ///< empty: the only one
  std::string name;                      ///< of the table
  DType dtype = DType::kF32;             ///< of the table: f32, f16 or bf16
  Overwrite table = Overwrite::kRefuse;  ///< what to do with a table of the name
  std::string created_by;
};

struct AttachReport {
  std::uint64_t generation = 0;  ///< of the dataset now
  std::uint64_t rows = 0;
  std::uint32_t columns = 0;
  std::uint64_t bytes = 0;  ///< of the table
};

/// Reads the file once, in pieces; ids take 8 bytes a node, charged as "external ids". A failure,
/// or a kill, leaves what was there. Throws Error: kUsage for a type, name or dtype that will not
/// do; kData for a file without such rows, of other nodes (by ids, or by `node_type` in its
/// metadata), or with numbers that cannot be stored.
AttachReport attach_table(const AttachOptions& options, PrepContext& context);

}  // namespace sluice
