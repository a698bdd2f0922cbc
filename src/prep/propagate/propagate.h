// propagate: features, or training labels, carried along the edges once, before training, as new
// feature tables of a node type: SGC (Wu et al. 2019), SIGN (Frasca et al. 2020), metapath means
// (SeHGNN, Yang et al. 2023), random projections (RpHGNN, Hu et al. 2024), labels without echoes
// (Echoless-LP, 2026).
//
// By panels of columns: as many columns as --memory has room for are resident, and each product
// streams the edges once a panel. The bytes of the tables depend on neither threads nor panels.
#pragma once

#include "prep/prep_context.h"
#include "storage/format/staging.h"

#include <sluice/dtype.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

enum class PropagationMethod { kSgc, kSign, kMetapaths, kRandomProjection, kLabels };

struct PropagationOptions {
  PropagationMethod method = PropagationMethod::kSgc;
  std::uint64_t hops = 2;      ///< of labels and metapaths the longest path; else hops, or rounds
  std::string name = {};       ///< of the table, or what the names of several begin with
  std::string node_type = {};  ///< whose tables they become; empty: the only one
  std::string features = "features";  ///< the table that each node type gives, where it has it
  std::string relation = {};      ///< key, of kSgc and kSign; empty: the only one within the type
  DType dtype = DType::kF16;      ///< of the tables, and of what lies between hops: f32, f16, bf16
  bool backwards = false;         ///< paths go along out-edges too, where relations have them
  std::string split = "default";  ///< of kLabels: whose training nodes show their labels
  std::uint64_t parts = 3;        ///< of kLabels: of the nodes that show labels
  /// Of kLabels: a table of the type with class scores of a model of before, whose softmax nodes
  /// that are not trained on show; empty: they show nothing.
  std::string predictions = {};
  std::uint64_t seed = 1;     ///< of kLabels: of the parts; of kRandomProjection
  std::uint32_t columns = 0;  ///< of kRandomProjection, of types without features; 0: as many as
                              ///< the node type's features have, or 64
  std::uint32_t panel = 0;    ///< columns of a panel at most; 0: as memory allows
  Overwrite tables = Overwrite::kRefuse;  ///< what to do with tables of the same names
};

struct PropagationReport {
  struct Table {
    std::string name;
    std::uint64_t rows = 0;
    std::uint32_t columns = 0;
  };
  /// How a table was cut that propagation began with.
  struct Cut {
    std::string node_type;
    std::uint32_t columns = 0;
    std::uint32_t panel = 0;  ///< columns of a panel
    std::uint32_t panels = 0;
    std::uint64_t products = 0;  ///< each streams its edges once a panel
  };

  std::uint64_t generation = 0;  ///< of the dataset now
  std::vector<Table> tables;
  std::vector<Cut> cuts;
  std::uint64_t passes = 0;         ///< over edges
  std::uint64_t bytes_edges = 0;    ///< read by them
  std::uint64_t bytes_read = 0;     ///< of rows
  std::uint64_t bytes_written = 0;  ///< of rows, with the tables
  /// What the products alone move by the formula: rows read + 4 bytes an edge and panel + rows
  /// written.
  std::uint64_t bytes_formula = 0;
  std::uint64_t bytes_tables = 0;
  std::uint64_t bytes_disk = 0;    ///< the most that is on the disk beside the dataset
  std::uint64_t least_memory = 0;  ///< with which it can be done
};

/// What propagate_dataset() would do, from the manifest alone. Throws Error: kUsage where the
/// dataset has not what the method needs, kResource where --memory is less than `least_memory`.
PropagationReport plan_propagation(const std::filesystem::path& dataset,
                                   const PropagationOptions& options,
                                   PrepContext& context);

/// Adds the tables, as a new generation; all else is taken over without a copy. A failure, or a
/// kill, leaves what was there. Throws Error.
PropagationReport propagate_dataset(const std::filesystem::path& dataset,
                                    const PropagationOptions& options,
                                    const std::string& created_by,
                                    PrepContext& context);

}  // namespace sluice
