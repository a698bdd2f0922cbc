// Dataset: a prepared dataset directory, opened for reading.
//
//   Dataset dataset = Dataset::open("data/papers", {.ledger = &ledger});
//   auto features = dataset.features("paper");      // rows on disk, behind a cache-friendly reader
//   auto topology = dataset.topology("paper__cites__paper");
//
// Throws Error: kData for a directory that is no dataset, is damaged, or is of a newer version.
// Data files are opened when they are asked for and must be the ones this manifest means: a dataset
// replaced meanwhile is an error, never a mixture. Cheap to move, unless a GraphData stands on it;
// what was moved from may be assigned to and destroyed, no more. Thread-safe to read. Stores,
// topologies and arrays opened from it may outlive it. Throws kUsage for names that it lacks.
#pragma once

#include <sluice/array.h>
#include <sluice/feature_store.h>
#include <sluice/graph_schema.h>
#include <sluice/memory.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class HostPinning;
class PagedTimes;

enum class Placement { kMemory, kDisk };
enum class IoChoice { kAuto, kIoUring, kPread };

/// Whether data is checked against its checksums: as it is read, or not at all.
enum class Verify { kRead, kOff };

struct DatasetOptions {
  MemoryLedger* ledger =
      nullptr;  ///< charged for whatever is loaded; must outlive everything opened from here
  Verify verify = Verify::kRead;
};

struct FeatureStoreOptions {
  Placement placement = Placement::kDisk;
  IoChoice io = IoChoice::kAuto;
  std::uint64_t staging_bytes = 16 << 20;  ///< read buffers of a store on disk
  /// A device that reads from the table in memory, or from the read buffers, too; or null.
  std::shared_ptr<HostPinning> device = nullptr;
};

/// On disk a relation keeps its compressed offsets in RAM, and of its neighbours and edge ids only
/// the pages that are in use.
struct TopologyOptions {
  Placement placement = Placement::kMemory;
  IoChoice io = IoChoice::kAuto;
  std::uint64_t staging_bytes = 16 << 20;  ///< read buffers on disk, and at most as much scratch
  std::uint64_t cache_bytes = 64 << 20;    ///< pages kept because they are asked for often; 0: none
};

/// The node ids of a split, ascending, u64.
struct Split {
  std::string node_type;
  Array train, valid, test;
};

/// A split of edges: ids of one relation's edges (u64 [count]), or rows of edges that stand apart
/// from the relations'.
struct EdgeSplit {
  /// An edge of a split that has no relation of its own.
  struct Row {
    std::uint64_t relation;  ///< its place in GraphSchema::relations
    std::uint64_t type;      ///< its class, where the relation's labels are types; else 0
    std::uint64_t source;
    std::uint64_t target;
    std::uint64_t label;  ///< 1: it is an edge; 0: an example of one that is not
  };
  std::string relation;      ///< empty: parts are u64 [count, 5], a Row each
  Array train, valid, test;  ///< `train` may be empty: all edges of the relations
};

/// Many small graphs: graph g has the nodes [offsets[g], offsets[g + 1]) of its type.
struct GraphCollection {
  Array offsets;  ///< u64 [count + 1]
  Array labels;   ///< as Dataset::labels, one a graph; empty without labels
};

/// The user's own ids of a node type, by dense id.
class ExternalIds {
 public:
  ExternalIds(IdKind kind, Array integers, Array offsets, Array bytes);
  IdKind kind() const noexcept { return kind_; }
  /// The id as text, whatever its kind. Throws kUsage for a node beyond the ids; dense ids have no
  /// end.
  std::string text(std::uint64_t node) const;
  /// The same as a number. Throws kUsage for strings, too.
  std::int64_t integer(std::uint64_t node) const;

 private:
  IdKind kind_;
  Array integers_, offsets_, bytes_;
};

class Dataset {
 public:
  static Dataset open(const std::string& path, DatasetOptions options = {});
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  const std::string& path() const;
  const GraphSchema& schema() const;
  /// What arrays are charged to; null: nothing.
  MemoryLedger* ledger() const;
  std::uint64_t generation() const;
  /// XXH3-64 of the manifest's text: changes when anything in the dataset does.
  std::uint64_t fingerprint() const;
  /// The dataset as it is on disk now, where nodes or edges were appended to it, or it was
  /// compacted or partitioned, since this was opened; nothing while this is the newest generation.
  /// What this opened stays what it was. Throws kData where another graph is in its place.
  std::optional<Dataset> newer() const;
  /// Whether something else is in its place now: what is opened from here then fails, what was
  /// opened stays.
  bool replaced() const;

  std::unique_ptr<FeatureStore> features(std::string_view node_type,
                                         const FeatureStoreOptions& options = {},
                                         std::string_view name = "features") const;
  /// The relation's CSC, loaded into RAM unless told otherwise. @param relation
  /// RelationSchema::key()
  std::unique_ptr<Topology> topology(std::string_view relation,
                                     const TopologyOptions& options = {}) const;
  /// i32 [count], u8 [count, ceil(classes / 8)] or f32 [count, width], as the label schema says.
  Array labels(std::string_view node_type) const;
  /// i64 [count]. Throws kUsage where the type has none.
  Array node_times(std::string_view node_type) const;

  /// A relation's rows by edge id; read as those of nodes are.
  std::unique_ptr<FeatureStore> edge_features(std::string_view relation,
                                              const FeatureStoreOptions& options = {},
                                              std::string_view name = "features") const;
  /// As labels(), by edge id.
  Array edge_labels(std::string_view relation) const;
  /// i64 [edges] and f32 [edges], beside the CSC's neighbours. Throws kUsage where the relation has
  /// none.
  Array edge_times(std::string_view relation) const;
  /// The times where they stay on disk, beside the same relation's edges on disk; for
  /// samplers/paged_events.h. Throws Error: kUsage for a relation with appended edges.
  std::shared_ptr<PagedTimes> paged_times(std::string_view relation,
                                          Topology& topology,
                                          const TopologyOptions& options) const;
  Array edge_weights(std::string_view relation) const;

  Split split(std::string_view name) const;
  EdgeSplit edge_split(std::string_view name) const;
  /// Throws kUsage where there are none.
  GraphCollection graphs() const;
  Split graph_split(std::string_view name) const;
  ExternalIds ids(std::string_view node_type) const;

 private:
  struct State;
  explicit Dataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice
