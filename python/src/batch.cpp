// A mini-batch for sluice.Batch: views of its arrays, each of which keeps it alive.
#include "batch.h"

#include "arrays.h"
#include "bindings.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <nanobind/stl/vector.h>

namespace sluice::python {
namespace {

// Arrays have their owner already.
constexpr auto kView = nb::rv_policy::automatic;

// Nodes and blocks of a batch, which they keep.
struct NodesView {
  PyBatch batch;
  const BatchNodes* nodes;
};
struct BlockView {
  PyBatch batch;
  const Block* block;
};

std::optional<Numpy> group_of(const std::vector<Array>& groups,
                              std::size_t group,
                              const PyBatch& batch) {
  if (group >= groups.size()) return std::nullopt;
  return maybe_numpy(groups[group], batch.ledger);
}

// Source rows, then target rows, without the interpreter's lock.
void fill_edge_index(const Block& block, std::span<std::int64_t> out) {
  const nb::gil_scoped_release release;
  const auto offsets = block.offsets.as<std::int64_t>();
  const auto neighbours = block.neighbours.as<std::int32_t>();
  const auto count = static_cast<std::size_t>(block.num_edges());
  for (std::size_t e = 0; e < count; ++e) out[e] = neighbours[e];
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    for (std::int64_t e = offsets[t]; e < offsets[t + 1]; ++e)
      out[count + static_cast<std::size_t>(e)] = static_cast<std::int64_t>(t);
  }
}

// int64 [2, edges]: source rows and target rows.
Numpy edge_index(const BlockView& self) {
  const Block& block = *self.block;
  Array made = Array::make(DType::kI64, {2, block.num_edges()}).or_throw();
  fill_edge_index(block, made.as<std::int64_t>());
  return to_numpy(made, nullptr);
}

void add_nodes(nb::module_& module) {
  const auto maybe = [](Array BatchNodes::*member) {
    return [member](const NodesView& self) {
      return maybe_numpy(self.nodes->*member, self.batch.ledger);
    };
  };
  nb::class_<NodesView>(module, "Nodes", "The nodes of one type in a mini-batch, seeds first.")
      .def_prop_ro(
          "ids",
          [](const NodesView& self) { return to_numpy(self.nodes->ids, self.batch.ledger); },
          kView,
          "int64 [n]: dense ids; row i is node ids[i].")
      .def_prop_ro(
          "degrees",
          maybe(&BatchNodes::degrees),
          kView,
          "int64 [n]: in-edges in the whole graph; None unless the loader has degrees=True.")
      .def_prop_ro(
          "times", maybe(&BatchNodes::times), kView, "int64 [n]: of each row; None without times.")
      .def_prop_ro(
          "x",
          [](const NodesView& self) { return group_of(self.nodes->features, 0, self.batch); },
          kView,
          "float32 [n, dim]: features of the loader's first group; None where the type has none.")
      .def(
          "features",
          [](const NodesView& self, std::size_t group) {
            return group_of(self.nodes->features, group, self.batch);
          },
          nb::arg("group") = 0,
          "float32 [n, dim]: features of a group, by its place in feature_groups.")
      .def_prop_ro(
          "sizes",
          [](const NodesView& self) { return self.nodes->size_at; },
          "Rows in use at each layer boundary: sizes[0] all, ..., the last one the seeds.")
      .def("__len__", [](const NodesView& self) { return self.nodes->ids.numel(); });
}

void add_block(nb::module_& module) {
  const auto array = [](Array Block::*member) {
    return [member](const BlockView& self) {
      return to_numpy(self.block->*member, self.batch.ledger);
    };
  };
  const auto maybe = [](Array Block::*member) {
    return [member](const BlockView& self) {
      return maybe_numpy(self.block->*member, self.batch.ledger);
    };
  };
  const auto number = [](auto Block::*member) {
    return [member](const BlockView& self) { return self.block->*member; };
  };
  nb::class_<BlockView>(
      module,
      "Block",
      "The sampled edges of one relation at one layer, from source rows to target "
      "rows, grouped by target.")
      .def_prop_ro("relation_index", number(&Block::relation), "Its place in schema.relations.")
      .def_prop_ro("num_sources", number(&Block::num_sources), "Rows of the source type it reads.")
      .def_prop_ro("num_targets", number(&Block::num_targets), "Rows of the target type it writes.")
      .def_prop_ro("num_edges", [](const BlockView& self) { return self.block->num_edges(); })
      .def_prop_ro("offsets",
                   array(&Block::offsets),
                   kView,
                   "int64 [num_targets + 1]: where each target's edges begin.")
      .def_prop_ro("neighbours", array(&Block::neighbours), kView, "int32 [edges]: source rows.")
      .def_prop_ro("edge_ids",
                   maybe(&Block::edge_ids),
                   kView,
                   "int64 [edges]; None unless the loader has edge_ids=True or edge features.")
      .def_prop_ro("deltas",
                   maybe(&Block::deltas),
                   kView,
                   "int64 [edges]: how long before its target's time each edge was; None without "
                   "times.")
      .def_prop_ro("transposed_offsets",
                   maybe(&Block::transposed_offsets),
                   kView,
                   "int64 [num_sources + 1]; None unless the loader has transpose=True.")
      .def_prop_ro("transposed_targets",
                   maybe(&Block::transposed_targets),
                   kView,
                   "int32 [edges]: target rows, grouped by source.")
      .def_prop_ro("transposed_edges",
                   maybe(&Block::transposed_edges),
                   kView,
                   "int32 [edges]: each one's place in neighbours.")
      .def(
          "features",
          [](const BlockView& self, std::size_t group) {
            return group_of(self.block->features, group, self.batch);
          },
          nb::arg("group") = 0,
          "float32 [edges, dim]: of a group, by its place in edge_feature_groups; else None.")
      .def("edge_index", &edge_index, "int64 [2, edges]: source rows, target rows. A new array.");
}

}  // namespace

void add_batch(nb::module_& module) {
  add_nodes(module);
  add_block(module);
  const auto query = [](Array Queries::*member) {
    return [member](const PyBatch& self) {
      return maybe_numpy(self.batch->queries.*member, self.ledger);
    };
  };
  nb::class_<PyBatch>(module, "Batch", "A mini-batch; sluice.Batch wraps it.")
      .def_prop_ro("epoch", [](const PyBatch& self) { return self.batch->epoch; })
      .def_prop_ro("index", [](const PyBatch& self) { return self.batch->index; })
      .def_prop_ro("num_queries", [](const PyBatch& self) { return self.batch->num_queries(); })
      .def_prop_ro("num_layers", [](const PyBatch& self) { return self.batch->layers.size(); })
      .def_prop_ro(
          "labels",
          [](const PyBatch& self) { return maybe_numpy(self.batch->labels, self.ledger); },
          kView)
      .def_prop_ro("relation", [](const PyBatch& self) { return self.batch->queries.relation; })
      .def_prop_ro("type", [](const PyBatch& self) { return self.batch->queries.type; })
      .def_prop_ro("destination_type",
                   [](const PyBatch& self) { return self.batch->queries.destination_type; })
      .def_prop_ro("query_ids", query(&Queries::ids), kView)
      .def_prop_ro("query_times", query(&Queries::times), kView)
      .def_prop_ro("query_nodes", query(&Queries::nodes), kView)
      .def_prop_ro("query_offsets", query(&Queries::offsets), kView)
      .def_prop_ro("sources", query(&Queries::sources), kView)
      .def_prop_ro("destinations", query(&Queries::destinations), kView)
      .def_prop_ro("negatives", query(&Queries::negatives), kView)
      .def_prop_ro("truth", query(&Queries::truth), kView)
      .def(
          "seeds",
          [](const PyBatch& self, std::size_t type) {
            return to_numpy(self.batch->seeds.at(type), self.ledger);
          },
          nb::arg("type"))
      .def(
          "nodes",
          [](const PyBatch& self, std::size_t type) {
            return NodesView{self, &self.batch->nodes.at(type)};
          },
          nb::arg("type"))
      .def(
          "blocks",
          [](const PyBatch& self, std::size_t layer) {
            std::vector<BlockView> all;
            for (const Block& block : self.batch->layers.at(layer))
              all.push_back(BlockView{self, &block});
            return all;
          },
          nb::arg("layer"))
      .def("xxh3", [](const PyBatch& self) { return hash_batch(*self.batch); });
}

}  // namespace sluice::python
