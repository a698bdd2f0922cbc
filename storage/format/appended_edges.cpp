#include "storage/format/appended_edges.h"

#include "storage/format/data_file_reader.h"
#include "storage/format/layout.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {

Result<Array> load_appended(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const RelationSchema& relation,
                            const DatasetOptions& options) {
  const std::string path = relation_path(relation, kAppendedName);
  auto log = load_array(root,
                        manifest,
                        path,
                        DType::kU64,
                        {static_cast<std::int64_t>(relation.appended), 3},
                        options,
                        "topology");
  if (!log) return log;
  const std::uint64_t sources = manifest.schema.node_type(relation.source)->count;
  const std::uint64_t targets = manifest.schema.node_type(relation.target)->count;
  const auto values = std::as_const(log.value()).as<std::uint64_t>();
  for (std::uint64_t i = 0; i < relation.appended; ++i) {
    const AppendedEdge edge = appended_edge(values, i);
    if (edge.source < sources && edge.target < targets && edge.id < relation.appended_id_bound)
      continue;
    return Error(ErrorCode::kData,
                 fmt::format("appended edge {} ({} -> {}, id {}) names a node or an id that is not "
                             "there",
                             i,
                             edge.source,
                             edge.target,
                             edge.id),
                 "the dataset is damaged: restore it from a copy or prepare it again",
                 Place{(root / path).string(), -1, -1, -1});
  }
  return log;
}

Result<Array> load_appended_times(const std::filesystem::path& root,
                                  const Manifest& manifest,
                                  const RelationSchema& relation,
                                  const DatasetOptions& options) {
  return load_array(root,
                    manifest,
                    relation_path(relation, kAppendedTimesName),
                    DType::kI64,
                    {static_cast<std::int64_t>(relation.appended)},
                    options,
                    "times");
}

}  // namespace sluice
