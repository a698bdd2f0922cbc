#include "probe/node_data.h"

#include "core/interrupt.h"
#include "kernels/float_rows.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace sluice::probe {
namespace {

using torch::Tensor;

constexpr std::uint64_t kBytesAtOnce = std::uint64_t{8} << 20;

const NodeTypeSchema& schema_of(const Dataset& dataset, std::string_view node_type) {
  const NodeTypeSchema* const type = dataset.schema().node_type(node_type);
  if (type != nullptr) return *type;
  throw Error(ErrorCode::kUsage,
              fmt::format("the dataset has no node type '{}'", node_type),
              "sluice-prep inspect shows its types",
              Place{dataset.path(), -1, -1, -1});
}

Tensor numbers_of(const Array& ids) {
  if (ids.empty()) return torch::empty({0}, torch::kInt64);
  return nn::as_tensor(ids).view(torch::kInt64).clone();
}

}  // namespace

std::string probed_type(const GraphSchema& schema, const std::string& wanted) {
  std::vector<std::string> labelled;
  for (const NodeTypeSchema& type : schema.nodes) {
    if (type.name == wanted) return wanted;
    if (type.labels) labelled.push_back(type.name);
  }
  if (!wanted.empty())
    throw Error(ErrorCode::kUsage,
                fmt::format("the dataset has no node type '{}'", wanted),
                "sluice-prep inspect shows its types");
  if (labelled.size() == 1) return labelled.front();
  if (schema.nodes.size() == 1) return schema.nodes.front().name;
  throw Error(ErrorCode::kUsage,
              fmt::format("the dataset has {} node types, {} of them with labels",
                          schema.nodes.size(),
                          labelled.size()),
              "say which one the embeddings are of: --type NAME");
}

NodeLabels read_labels(const Dataset& dataset, std::string_view node_type) {
  const NodeTypeSchema& type = schema_of(dataset, node_type);
  if (!type.labels || type.labels->kind == LabelKind::kRegression)
    throw Error(ErrorCode::kUsage,
                fmt::format("nodes of type '{}' have {}",
                            node_type,
                            type.labels ? "numbers for labels, not classes" : "no labels"),
                "classify and cluster want classes: choose --tasks links, or another --type",
                Place{dataset.path(), -1, -1, -1});
  const Tensor stored = nn::as_tensor(dataset.labels(node_type));
  const auto classes = std::int64_t{type.labels->width};
  if (type.labels->kind == LabelKind::kClass) return {stored.to(torch::kInt64), classes};
  const Tensor bits =
      stored.unsqueeze(-1).bitwise_right_shift(torch::arange(8, stored.options())).bitwise_and(1);
  return {bits.flatten(1).narrow(1, 0, classes).to(torch::kFloat32), classes};
}

NodeParts read_parts(const Dataset& dataset, std::string_view node_type, const std::string& name) {
  const Split split = dataset.split(name);
  if (split.node_type != node_type)
    throw Error(ErrorCode::kUsage,
                fmt::format("split '{}' is of nodes of type '{}', the embeddings are of '{}'",
                            name,
                            split.node_type,
                            node_type),
                "choose another --split",
                Place{dataset.path(), -1, -1, -1});
  return {numbers_of(split.train), numbers_of(split.valid), numbers_of(split.test)};
}

Tensor read_features(const Dataset& dataset, std::string_view node_type) {
  const NodeTypeSchema& type = schema_of(dataset, node_type);
  const auto table = std::ranges::find(type.features, "features", &FeatureSchema::name);
  if (table == type.features.end())
    throw Error(ErrorCode::kUsage,
                fmt::format("nodes of type '{}' have no features", node_type),
                "floors begin from features: leave --floors out",
                Place{dataset.path(), -1, -1, -1});
  const auto store = dataset.features(node_type);
  const auto width = std::int64_t{table->dim};
  Tensor rows = torch::empty({static_cast<std::int64_t>(table->rows), width}, torch::kFloat32);
  const std::uint64_t chunk =
      std::max<std::uint64_t>(1, kBytesAtOnce / std::max<std::uint64_t>(1, store->row_bytes()));
  std::vector<std::uint64_t> wanted;
  std::vector<const std::byte*> begins;
  std::vector<std::byte> stored;
  for (std::uint64_t first = 0; first < table->rows; first += chunk) {
    throw_if_interrupted();
    wanted.resize(std::min(chunk, table->rows - first));
    std::iota(wanted.begin(), wanted.end(), first);
    stored.resize(wanted.size() * store->row_bytes());
    store->gather(wanted, stored).or_throw();
    begins.resize(wanted.size());
    for (std::size_t i = 0; i < begins.size(); ++i)
      begins[i] = stored.data() + i * store->row_bytes();
    kernels::float_rows({},
                        *table,
                        begins.data(),
                        {rows.data_ptr<float>() + static_cast<std::int64_t>(first) * width,
                         static_cast<std::int64_t>(wanted.size()),
                         width});
  }
  return rows;
}

}  // namespace sluice::probe
