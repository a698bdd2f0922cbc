#include "storage/topology/node_list.h"

#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

namespace sluice {
namespace {

template <class Id>
bool ascend_below(std::span<const Id> nodes, std::uint64_t num_nodes) {
  if (nodes.empty()) return true;
  return nodes.back() < num_nodes &&
         std::ranges::adjacent_find(nodes, std::greater_equal<>()) == nodes.end();
}

// directory[b]: how many nodes are below b * 2^shift.
void fill_directory(const ListedNodes& listed, std::span<std::uint64_t> directory) {
  std::size_t bucket = 0;
  for (std::size_t list = 0; list < listed.size(); ++list) {
    const std::uint64_t own = listed.node(list) >> listed.shift;
    while (bucket <= own) directory[bucket++] = list;
  }
  std::ranges::fill(directory.subspan(bucket), listed.size());
}

}  // namespace

Result<NodeList> NodeList::make(Array nodes,
                                std::uint64_t num_nodes,
                                const std::filesystem::path& path,
                                MemoryLedger* ledger) {
  NodeList made;
  made.num_nodes_ = num_nodes;
  made.nodes_ = std::move(nodes);
  ListedNodes& view = made.view_;
  if (made.nodes_.dtype() == DType::kU32) {
    view.nodes32 = std::as_const(made.nodes_).as<std::uint32_t>();
  } else {
    view.nodes64 = std::as_const(made.nodes_).as<std::uint64_t>();
  }
  if (!ascend_below(view.nodes32, num_nodes) || !ascend_below(view.nodes64, num_nodes))
    return damaged_file(path,
                        fmt::format("the listed nodes do not ascend below {} nodes", num_nodes));
  view.shift = directory_shift(num_nodes, view.size());
  const auto entries = static_cast<std::int64_t>(directory_size(num_nodes, view.shift));
  auto directory = Array::make(DType::kU64, {entries}, ledger, "topology");
  if (!directory) return std::move(directory).error();
  made.directory_ = std::move(directory).value();
  fill_directory(view, made.directory_.as<std::uint64_t>());
  view.directory = std::as_const(made.directory_).as<std::uint64_t>();
  return made;
}

Result<NodeList> NodeList::load(const std::filesystem::path& root,
                                const Manifest& manifest,
                                const RelationLists& lists,
                                const DatasetOptions& options,
                                std::optional<IoChoice> ahead) {
  if (!lists.are_listed()) return NodeList();
  auto nodes = load_array(root,
                          manifest,
                          lists.listed,
                          lists.node_dtype(),
                          {static_cast<std::int64_t>(lists.lists)},
                          options,
                          "topology",
                          ahead);
  if (!nodes) return std::move(nodes).error();
  return make(std::move(nodes).value(), lists.nodes, root / lists.listed, options.ledger);
}

}  // namespace sluice
