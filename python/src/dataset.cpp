// A dataset for sluice.Dataset: its schema as plain dictionaries, and what it holds as NumPy
// arrays.
#include "arrays.h"
#include "bindings.h"
#include "interrupts.h"
#include "kernels/float_rows.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace sluice::python {
namespace {

using DatasetPtr = std::shared_ptr<Dataset>;

// Not charged: what is asked of a dataset is the user's own.
class PyDataset {
 public:
  explicit PyDataset(DatasetPtr dataset) : dataset_(std::move(dataset)) {}
  const DatasetPtr& get() const {
    if (!dataset_)
      throw Error(
          ErrorCode::kUsage, "the dataset is closed", "open it again: sluice.Dataset(path)");
    return dataset_;
  }
  void close() { dataset_.reset(); }

 private:
  DatasetPtr dataset_;
};

nb::object labels_schema(const std::optional<LabelSchema>& labels) {
  if (!labels) return nb::none();
  nb::dict all;
  all["kind"] = std::string(to_string(labels->kind));
  all["width"] = labels->width;
  all["names"] = nb::cast(labels->names);
  return all;
}

nb::list features_schema(const std::vector<FeatureSchema>& groups) {
  nb::list all;
  for (const FeatureSchema& group : groups) {
    nb::dict one;
    one["name"] = group.name;
    one["dtype"] = std::string(feature_dtype_name(group.dtype));
    one["dim"] = group.dim;
    one["rows"] = group.rows;
    all.append(one);
  }
  return all;
}

nb::dict node_schema(const NodeTypeSchema& type) {
  nb::dict one;
  one["name"] = type.name;
  one["count"] = type.count;
  one["ids"] = std::string(to_string(type.ids));
  one["features"] = features_schema(type.features);
  one["labels"] = labels_schema(type.labels);
  one["has_times"] = type.has_times;
  return one;
}

nb::dict relation_schema(const RelationSchema& relation) {
  nb::dict one;
  one["source"] = relation.source;
  one["name"] = relation.name;
  one["target"] = relation.target;
  one["edges"] = relation.edges + relation.appended;
  one["has_edge_ids"] = relation.has_edge_ids;
  one["has_times"] = relation.has_times;
  one["has_weights"] = relation.has_weights;
  one["features"] = features_schema(relation.features);
  one["labels"] = labels_schema(relation.labels);
  one["title"] = relation.title;
  return one;
}

template <class Split>
nb::dict split_schema(const Split& split, const std::string& of) {
  nb::dict one;
  one["name"] = split.name;
  one["of"] = of;
  one["train"] = split.train;
  one["valid"] = split.valid;
  one["test"] = split.test;
  return one;
}

nb::dict schema_of(const PyDataset& self) {
  const GraphSchema& schema = self.get()->schema();
  nb::list nodes, relations, splits, edge_splits;
  for (const NodeTypeSchema& type : schema.nodes) nodes.append(node_schema(type));
  for (const RelationSchema& relation : schema.relations)
    relations.append(relation_schema(relation));
  for (const SplitSchema& split : schema.splits)
    splits.append(split_schema(split, split.node_type));
  for (const EdgeSplitSchema& split : schema.edge_splits)
    edge_splits.append(split_schema(split, split.relation));
  nb::dict all;
  all["nodes"] = nodes;
  all["relations"] = relations;
  all["splits"] = splits;
  all["edge_splits"] = edge_splits;
  all["graphs"] = nb::none();
  if (schema.graphs) {
    nb::dict graphs;
    nb::list of_graphs;
    for (const SplitSchema& split : schema.graphs->splits)
      of_graphs.append(split_schema(split, ""));
    graphs["node_type"] = schema.graphs->node_type;
    graphs["count"] = schema.graphs->count;
    graphs["labels"] = labels_schema(schema.graphs->labels);
    graphs["splits"] = of_graphs;
    all["graphs"] = graphs;
  }
  return all;
}

// Rows of a feature table as f32, read and widened a piece at a time.
Array read_rows(FeatureStore& store, const std::optional<Array>& asked) {
  constexpr std::size_t kPieceBytes = 4 << 20;
  const FeatureSchema& schema = store.schema();
  const std::size_t count =
      asked ? static_cast<std::size_t>(asked->numel()) : static_cast<std::size_t>(schema.rows);
  const std::size_t dim = schema.dim;
  Array out =
      Array::make(DType::kF32, {static_cast<std::int64_t>(count), static_cast<std::int64_t>(dim)})
          .or_throw();
  const std::size_t row_bytes = std::max<std::size_t>(store.row_bytes(), 1);
  const std::size_t piece = std::max<std::size_t>(kPieceBytes / row_bytes, 1);
  std::vector<std::uint64_t> rows;
  std::vector<std::byte> stored;
  std::vector<const std::byte*> begins;
  for (std::size_t first = 0; first < count; first += rows.size()) {
    rows.resize(std::min(piece, count - first));
    if (asked) {
      const auto ids = asked->as<std::uint64_t>().subspan(first, rows.size());
      const auto bad = std::ranges::find_if(ids, [&](auto id) { return id >= schema.rows; });
      if (bad != ids.end())
        throw Error(ErrorCode::kUsage,
                    fmt::format("row {} is asked for, there are {}", *bad, schema.rows),
                    "rows are counted from 0; Dataset.dense_ids() finds them by id");
      std::ranges::copy(ids, rows.begin());
    } else {
      std::iota(rows.begin(), rows.end(), std::uint64_t{first});
    }
    stored.resize(rows.size() * store.row_bytes());
    store.gather(rows, stored).or_throw();
    begins.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) begins[i] = stored.data() + i * store.row_bytes();
    kernels::float_rows({},
                        schema,
                        begins.data(),
                        {out.as<float>().data() + first * dim,
                         static_cast<std::int64_t>(rows.size()),
                         static_cast<std::int64_t>(dim)});
  }
  return out;
}

using OpenStore = std::unique_ptr<FeatureStore> (*)(const Dataset&,
                                                    const std::string& of,
                                                    const std::string& group);

Numpy features(const PyDataset& self,
               const std::string& of,
               const std::string& group,
               const std::optional<Ids>& rows,
               OpenStore open) {
  std::optional<Array> asked;
  if (rows) asked = to_ids(*rows);
  const Array made = interruptible([dataset = self.get(), of, group, asked, open] {
    return read_rows(*open(*dataset, of, group), asked);
  });
  return to_numpy(made, nullptr);
}

// An array of the dataset, read without the interpreter's lock.
Numpy loaded(const PyDataset& self,
             const std::string& of,
             Array (Dataset::*read)(std::string_view) const) {
  return to_numpy(
      interruptible([dataset = self.get(), of, read] { return ((*dataset).*read)(of); }), nullptr);
}

template <class Parts>
nb::tuple parts_of(const Parts& split) {
  return nb::make_tuple(maybe_numpy(split.train, nullptr),
                        maybe_numpy(split.valid, nullptr),
                        maybe_numpy(split.test, nullptr));
}

nb::tuple graphs_of(const PyDataset& self) {
  const GraphCollection graphs = self.get()->graphs();
  return nb::make_tuple(to_numpy(graphs.offsets, nullptr), maybe_numpy(graphs.labels, nullptr));
}

// int64 where the ids are numbers, else a list of text.
nb::object ids_of(const PyDataset& self,
                  const std::string& type,
                  std::uint64_t count,
                  const std::optional<Ids>& rows) {
  const auto ids = std::make_shared<const ExternalIds>(
      interruptible([dataset = self.get(), type] { return dataset->ids(type); }));
  const std::size_t wanted = rows ? rows->size() : static_cast<std::size_t>(count);
  const auto row = [&](std::size_t i) {
    const std::uint64_t at = rows ? static_cast<std::uint64_t>(rows->data()[i]) : i;
    if (at < count) return at;
    throw Error(ErrorCode::kUsage,
                fmt::format("node {} is asked for, there are {}", at, count),
                "dense ids are counted from 0");
  };
  if (ids->kind() == IdKind::kString) {
    nb::list all;
    for (std::size_t i = 0; i < wanted; ++i) all.append(nb::cast(ids->text(row(i))));
    return all;
  }
  Array numbers = Array::make(DType::kI64, {static_cast<std::int64_t>(wanted)}).or_throw();
  const auto out = numbers.as<std::int64_t>();
  for (std::size_t i = 0; i < wanted; ++i) out[i] = ids->integer(row(i));
  return nb::cast(to_numpy(numbers, nullptr));
}

std::unique_ptr<FeatureStore> of_nodes(const Dataset& dataset,
                                       const std::string& of,
                                       const std::string& group) {
  return dataset.features(of, {}, group);
}
std::unique_ptr<FeatureStore> of_edges(const Dataset& dataset,
                                       const std::string& of,
                                       const std::string& group) {
  return dataset.edge_features(of, {}, group);
}

}  // namespace

void add_dataset(nb::module_& module) {
  nb::class_<PyDataset>(module, "Dataset", "A dataset directory, opened; sluice.Dataset wraps it.")
      .def(
          "__init__",
          [](PyDataset* self, const std::string& path, bool verify) {
            DatasetPtr opened = interruptible([path, verify] {
              return std::make_shared<Dataset>(Dataset::open(
                  path, {.ledger = nullptr, .verify = verify ? Verify::kRead : Verify::kOff}));
            });
            new (self) PyDataset(std::move(opened));
          },
          nb::arg("path"),
          nb::arg("verify"))
      .def("close", &PyDataset::close)
      .def_prop_ro("path", [](const PyDataset& self) { return self.get()->path(); })
      .def_prop_ro("fingerprint", [](const PyDataset& self) { return self.get()->fingerprint(); })
      .def_prop_ro("generation", [](const PyDataset& self) { return self.get()->generation(); })
      .def("schema", &schema_of)
      .def(
          "features",
          [](const PyDataset& self,
             const std::string& node_type,
             const std::string& group,
             const std::optional<Ids>& rows) {
            return features(self, node_type, group, rows, of_nodes);
          },
          nb::arg("node_type"),
          nb::arg("group"),
          nb::arg("rows").none())
      .def(
          "edge_features",
          [](const PyDataset& self,
             const std::string& relation,
             const std::string& group,
             const std::optional<Ids>& rows) {
            return features(self, relation, group, rows, of_edges);
          },
          nb::arg("relation"),
          nb::arg("group"),
          nb::arg("rows").none())
      .def(
          "labels",
          [](const PyDataset& self, const std::string& node_type) {
            return loaded(self, node_type, &Dataset::labels);
          },
          nb::arg("node_type"))
      .def(
          "node_times",
          [](const PyDataset& self, const std::string& node_type) {
            return loaded(self, node_type, &Dataset::node_times);
          },
          nb::arg("node_type"))
      .def(
          "edge_labels",
          [](const PyDataset& self, const std::string& relation) {
            return loaded(self, relation, &Dataset::edge_labels);
          },
          nb::arg("relation"))
      .def(
          "edge_times",
          [](const PyDataset& self, const std::string& relation) {
            return loaded(self, relation, &Dataset::edge_times);
          },
          nb::arg("relation"))
      .def(
          "edge_weights",
          [](const PyDataset& self, const std::string& relation) {
            return loaded(self, relation, &Dataset::edge_weights);
          },
          nb::arg("relation"))
      .def(
          "split",
          [](const PyDataset& self, const std::string& name) {
            return parts_of(self.get()->split(name));
          },
          nb::arg("name"))
      .def(
          "edge_split",
          [](const PyDataset& self, const std::string& name) {
            return parts_of(self.get()->edge_split(name));
          },
          nb::arg("name"))
      .def(
          "graph_split",
          [](const PyDataset& self, const std::string& name) {
            return parts_of(self.get()->graph_split(name));
          },
          nb::arg("name"))
      .def("graphs", &graphs_of)
      .def("ids", &ids_of, nb::arg("node_type"), nb::arg("count"), nb::arg("rows").none());
}

}  // namespace sluice::python
