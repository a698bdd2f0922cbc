#include "models/cora.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>
#include <sstream>

namespace sluice::testing {
namespace {

constexpr std::size_t kCoraNodes = 2708, kCoraDim = 1433;
constexpr std::uint32_t kCoraClasses = 7;

std::string folder() {
  if (const char* data = std::getenv("SLUICE_DATA")) return std::string(data) + "/cora/";
  const char* source = std::getenv("SLUICE_SOURCE");
  return std::string(source != nullptr ? source : ".") + "/../shared/data/cora/";
}

/// The elements of a one- or two-dimensional .npy file whose type is known to be T.
template <class T>
std::vector<T> read_npy(const std::string& name) {
  std::ifstream file(folder() + name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint16_t header = 0;
  std::memcpy(&header, bytes.data() + 8, sizeof header);
  const std::size_t start = 10u + header;
  std::vector<T> values((bytes.size() - start) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(T));
  return values;
}

std::vector<std::vector<std::int32_t>> read_neighbours() {
  std::vector<std::vector<std::int32_t>> neighbours_of(kCoraNodes);
  std::ifstream file(folder() + "edges.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::int32_t a = 0, b = 0;
    char comma = 0;
    fields >> a >> comma >> b;
    neighbours_of[static_cast<std::size_t>(a)].push_back(b);
    neighbours_of[static_cast<std::size_t>(b)].push_back(a);
  }
  return neighbours_of;
}

Array labels_of(const std::string& split, const std::vector<std::int64_t>& labels) {
  std::vector<std::int32_t> known(kCoraNodes, -1);
  for (const std::int64_t node : read_npy<std::int64_t>(split)) {
    const auto at = static_cast<std::size_t>(node);
    known[at] = static_cast<std::int32_t>(labels[at]);
  }
  return array_of(known);
}

}  // namespace

std::optional<Cora> read_cora() {
  if (!std::ifstream(folder() + "features.npy")) return std::nullopt;
  std::vector<float> features = read_npy<float>("features.npy");
  for (std::size_t v = 0; v < kCoraNodes; ++v) {
    float sum = 0;
    for (std::size_t c = 0; c < kCoraDim; ++c) sum += features[v * kCoraDim + c];
    for (std::size_t c = 0; c < kCoraDim && sum > 0; ++c) features[v * kCoraDim + c] /= sum;
  }
  const auto labels = read_npy<std::int64_t>("labels.npy");
  Cora cora;
  cora.schema = homogeneous_schema(kCoraNodes, kCoraDim, {LabelKind::kClass, kCoraClasses});
  cora.batch = whole_graph(read_neighbours(), array_of(features, {kCoraNodes, kCoraDim}), 2);
  cora.batch.labels = labels_of("train_idx.npy", labels);
  cora.valid_labels = labels_of("val_idx.npy", labels);
  cora.test_labels = labels_of("test_idx.npy", labels);
  return cora;
}

}  // namespace sluice::testing
