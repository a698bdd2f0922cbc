#include "prep/csc_builder.h"

#include "core/interrupt.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

constexpr std::size_t kBlockEdges = std::size_t{1} << 21;  // edges held together as they come in
constexpr std::uint64_t kRangeEdges = std::uint64_t{1}
                                      << 18;  // edges a target range aims at: sorts in cache
constexpr std::uint64_t kRangeTargets = std::uint64_t{1} << 16;  // and targets at the most
constexpr std::uint64_t kMaxRanges = 4096;

// One edge as it is sorted. `Id` is the narrowest type for both node types' ids.
template <class Id>
struct Edge {
  Id source;
  Id target;
};

// Edges of consecutive input, with their ids when these are asked for.
template <class Id>
struct Block {
  std::vector<Edge<Id>> edges;
  std::vector<std::uint64_t> ids;
};

// What one target range becomes.
struct RangeOutput {
  std::vector<std::uint64_t> degrees;  // one a target
  std::vector<std::uint64_t> neighbours;
  std::vector<std::uint64_t> ids;
  std::uint64_t duplicates = 0;
};

template <class Id>
class Builder {
 public:
  Builder(DatasetWriter& writer,
          RelationSchema& relation,
          std::uint64_t num_sources,
          std::uint64_t num_targets,
          const CscOptions& options,
          ThreadArena& arena)
      : writer_(writer),
        relation_(relation),
        num_sources_(num_sources),
        num_targets_(num_targets),
        options_(options),
        arena_(arena) {}

  CscStats run(EdgeStream& stream) {
    read_all(stream);
    partition();
    write_ranges();
    relation_.edges = stats_.edges_written;
    relation_.has_edge_ids = options_.edge_ids;
    relation_.edge_id_bound = options_.edge_ids ? edge_id_bound() : 0;
    return stats_;
  }

 private:
  std::uint64_t edge_id_bound() const {
    return stats_.edges_read + (options_.self_loops == SelfLoops::kAdd ? num_targets_ : 0);
  }

  std::uint64_t edge_bytes() const { return sizeof(Edge<Id>) + (options_.edge_ids ? 8 : 0); }

  void charge_more(std::uint64_t bytes) {
    if (writer_.ledger() == nullptr) return;
    if (charge_.bytes() == 0) {
      charge_ = writer_.ledger()->charge("edges", bytes).or_throw();
    } else {
      charge_.resize(charge_.bytes() + bytes).or_throw();
    }
  }

  void read_all(EdgeStream& stream) {
    EdgeChunk chunk;
    while (stream.next(chunk)) {
      throw_if_interrupted();
      for (std::size_t i = 0; i < chunk.size(); ++i) take(chunk.source[i], chunk.target[i]);
    }
  }

  void take(std::uint64_t source, std::uint64_t target) {
    const std::uint64_t id = stats_.edges_read++;
    if (source >= num_sources_ || target >= num_targets_) {
      const bool bad_source = source >= num_sources_;
      throw Error(
          ErrorCode::kData,
          fmt::format("edge {} of relation '{}': {} {} is not below the count of '{}' nodes, {}",
                      id,
                      relation_.key(),
                      bad_source ? "source" : "target",
                      bad_source ? source : target,
                      bad_source ? relation_.source : relation_.target,
                      bad_source ? num_sources_ : num_targets_),
          "ids run from 0 to count - 1; raise the count or mend the edge");
    }
    if (source == target && relation_.source == relation_.target) {
      if (options_.self_loops != SelfLoops::kKeep) {
        ++stats_.self_loops_dropped;
        return;
      }
      push(source, target, id);
      return;
    }
    push(source, target, id);
    if (options_.undirected) push(target, source, id);
  }

  void push(std::uint64_t source, std::uint64_t target, std::uint64_t id) {
    if (blocks_.empty() || blocks_.back().edges.size() == kBlockEdges) {
      charge_more(kBlockEdges * edge_bytes());
      Block<Id>& block = blocks_.emplace_back();
      block.edges.reserve(kBlockEdges);
      if (options_.edge_ids) block.ids.reserve(kBlockEdges);
    }
    blocks_.back().edges.push_back({static_cast<Id>(source), static_cast<Id>(target)});
    if (options_.edge_ids) blocks_.back().ids.push_back(id);
    ++total_;
  }

  // Stable radix partition by target range: within a range edges stay in input order, whatever the
  // threads.
  void partition() {
    const std::uint64_t wanted = std::clamp<std::uint64_t>(
        std::max(total_ / kRangeEdges, num_targets_ / kRangeTargets), 1, kMaxRanges);
    while ((std::max<std::uint64_t>(num_targets_, 1) - 1) >> shift_ >= wanted) ++shift_;
    num_ranges_ = num_targets_ == 0 ? 0 : ((num_targets_ - 1) >> shift_) + 1;

    charge_more(blocks_.size() * (num_ranges_ + 1) * sizeof(std::uint64_t));
    std::vector<std::vector<std::uint64_t>> next(blocks_.size(),
                                                 std::vector<std::uint64_t>(num_ranges_ + 1, 0));
    arena_.for_each(blocks_.size(), [&](std::size_t b) {
      for (const Edge<Id>& edge : blocks_[b].edges)
        ++next[b][static_cast<std::uint64_t>(edge.target) >> shift_];
    });
    range_begin_.assign(num_ranges_ + 1, 0);
    std::uint64_t sum = 0;
    for (std::uint64_t range = 0; range < num_ranges_; ++range) {
      range_begin_[range] = sum;
      for (auto& counts : next) sum += std::exchange(counts[range], sum);
    }
    range_begin_[num_ranges_] = sum;

    charge_more(total_ * edge_bytes());
    sorted_.resize(total_);
    if (options_.edge_ids) sorted_ids_.resize(total_);
    arena_.for_each(blocks_.size(), [&](std::size_t b) {
      Block<Id>& block = blocks_[b];
      for (std::size_t i = 0; i < block.edges.size(); ++i) {
        const std::uint64_t to =
            next[b][static_cast<std::uint64_t>(block.edges[i].target) >> shift_]++;
        sorted_[to] = block.edges[i];
        if (options_.edge_ids) sorted_ids_[to] = block.ids[i];
      }
    });
    blocks_.clear();
    if (writer_.ledger() != nullptr && total_ != 0)
      charge_.resize(total_ * edge_bytes()).or_throw();
    throw_if_interrupted();
  }

  // Counting sort of one range by target, then self loops and duplicates as asked.
  RangeOutput convert(std::uint64_t range) const {
    const std::uint64_t first = range << shift_;
    const std::uint64_t count = std::min(num_targets_ - first, std::uint64_t{1} << shift_);
    const std::uint64_t begin = range_begin_[range];
    const std::uint64_t end = range_begin_[range + 1];
    const bool loops = options_.self_loops == SelfLoops::kAdd;
    RangeOutput out;
    std::vector<std::uint64_t> position(count + 1, 0);
    for (std::uint64_t i = begin; i < end; ++i) ++position[sorted_[i].target - first + 1];
    out.degrees.assign(position.begin() + 1, position.end());
    if (loops) {
      for (std::uint64_t node = 0; node < count; ++node) ++out.degrees[node];
    }
    position[0] = 0;
    for (std::uint64_t node = 0; node < count; ++node)
      position[node + 1] = position[node] + out.degrees[node];
    out.neighbours.resize(position[count]);
    if (options_.edge_ids) out.ids.resize(position[count]);
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t to = position[sorted_[i].target - first]++;
      out.neighbours[to] = sorted_[i].source;
      if (options_.edge_ids) out.ids[to] = sorted_ids_[i];
    }
    if (loops) {
      for (std::uint64_t node = 0; node < count; ++node) {
        out.neighbours[position[node]] = first + node;
        if (options_.edge_ids) out.ids[position[node]] = stats_.edges_read + first + node;
      }
    }
    if (options_.duplicates != Duplicates::kKeep) remove_duplicates(first, out);
    return out;
  }

  void remove_duplicates(std::uint64_t first, RangeOutput& out) const {
    std::vector<std::uint32_t> order;
    std::vector<bool> repeated;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    for (std::size_t node = 0; node < out.degrees.size(); ++node) {
      const std::uint64_t degree = out.degrees[node];
      order.resize(degree);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return out.neighbours[from + a] < out.neighbours[from + b];
      });
      repeated.assign(degree, false);
      for (std::uint64_t i = 1; i < degree; ++i) {
        repeated[order[i]] = out.neighbours[from + order[i]] == out.neighbours[from + order[i - 1]];
        if (repeated[order[i]] && options_.duplicates == Duplicates::kError) {
          throw Error(
              ErrorCode::kData,
              fmt::format("relation '{}' has the edge {} -> {} more than once",
                          relation_.key(),
                          out.neighbours[from + order[i]],
                          first + node),
              "set duplicates = \"drop\" to keep the first of each, or \"keep\" to keep all");
        }
      }
      for (std::uint64_t i = 0; i < degree; ++i) {
        if (repeated[i]) continue;
        out.neighbours[to] = out.neighbours[from + i];
        if (!out.ids.empty()) out.ids[to] = out.ids[from + i];
        ++to;
      }
      from += degree;
      const auto dropped =
          static_cast<std::uint64_t>(std::count(repeated.begin(), repeated.end(), true));
      out.degrees[node] -= dropped;
      out.duplicates += dropped;
    }
    out.neighbours.resize(to);
    if (!out.ids.empty()) out.ids.resize(to);
  }

  // What the ranges take while they are converted and written: counters a target; an edge's
  // neighbour and id, wide and narrow; and the order in which duplicates are looked for.
  Charge charge_outputs(std::uint64_t first, std::uint64_t last) const {
    if (writer_.ledger() == nullptr) return {};
    const std::uint64_t targets = std::min(num_targets_, last << shift_) - (first << shift_);
    const std::uint64_t loops = options_.self_loops == SelfLoops::kAdd ? targets : 0;
    const std::uint64_t edges = range_begin_[last] - range_begin_[first] + loops;
    const std::uint64_t an_edge =
        12 + (options_.edge_ids ? 12u : 0u) + (options_.duplicates == Duplicates::kKeep ? 0u : 5u);
    return writer_.ledger()->charge("edges", targets * 16 + edges * an_edge).or_throw();
  }

  // Converts a few ranges at a time in parallel and appends them in order, so that the output is
  // never held whole.
  void write_ranges() {
    auto offsets = writer_.create(relation_path(relation_, "offsets.bin"));
    auto neighbours = writer_.create(relation_path(relation_, "neighbours.bin"));
    std::unique_ptr<DataFileWriter> ids;
    if (options_.edge_ids) ids = writer_.create(relation_path(relation_, "edge_ids.bin"));
    const DType neighbour_dtype = node_id_dtype(num_sources_);
    const DType id_dtype = edge_id_bound() <= (std::uint64_t{1} << 32) ? DType::kU32 : DType::kU64;

    std::uint64_t end = 0;
    offsets->append_values(std::span<const std::uint64_t>(&end, 1));
    const auto wave = static_cast<std::uint64_t>(arena_.threads()) * 4;
    for (std::uint64_t range = 0; range < num_ranges_; range += wave) {
      throw_if_interrupted();
      const std::uint64_t count = std::min(wave, num_ranges_ - range);
      const Charge outputs_charge = charge_outputs(range, range + count);
      std::vector<RangeOutput> outputs(count);
      arena_.for_each(count, [&](std::size_t i) { outputs[i] = convert(range + i); });
      for (RangeOutput& output : outputs) {
        for (std::uint64_t& degree : output.degrees) {
          stats_.max_in_degree = std::max(stats_.max_in_degree, degree);
          stats_.isolated_targets += degree == 0 ? 1 : 0;
          end += degree;
          degree = end;  // degrees become the next offsets
        }
        offsets->append_values(std::span<const std::uint64_t>(output.degrees));
        append_narrow(*neighbours, neighbour_dtype, output.neighbours);
        if (ids) append_narrow(*ids, id_dtype, output.ids);
        stats_.duplicates_dropped += output.duplicates;
      }
    }
    stats_.edges_written = end;
    writer_.add(std::move(offsets));
    writer_.add(std::move(neighbours));
    if (ids) writer_.add(std::move(ids));
  }

  static void append_narrow(DataFileWriter& file,
                            DType dtype,
                            const std::vector<std::uint64_t>& values) {
    if (dtype == DType::kU64) return file.append_values(std::span<const std::uint64_t>(values));
    const std::vector<std::uint32_t> narrow(values.begin(), values.end());
    file.append_values(std::span<const std::uint32_t>(narrow));
  }

  DatasetWriter& writer_;
  RelationSchema& relation_;
  std::uint64_t num_sources_;
  std::uint64_t num_targets_;
  CscOptions options_;
  ThreadArena& arena_;

  Charge charge_;
  std::deque<Block<Id>> blocks_;
  std::vector<Edge<Id>> sorted_;
  std::vector<std::uint64_t> sorted_ids_;
  std::vector<std::uint64_t> range_begin_;
  std::uint64_t total_ = 0;
  std::uint64_t num_ranges_ = 0;
  int shift_ = 0;
  CscStats stats_;
};

}  // namespace

CscStats build_csc(DatasetWriter& writer,
                   RelationSchema& relation,
                   std::uint64_t num_sources,
                   std::uint64_t num_targets,
                   EdgeStream& edges,
                   const CscOptions& options,
                   ThreadArena& arena) {
  const bool one_type = relation.source == relation.target;
  if (!one_type && (options.undirected || options.self_loops == SelfLoops::kAdd)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("relation '{}' joins two node types: {} does not apply",
                            relation.key(),
                            options.undirected ? "undirected" : "self_loops = \"add\""),
                "add the reverse as a relation of its own");
  }
  constexpr std::uint64_t kNarrow = std::numeric_limits<std::uint32_t>::max();
  if (num_sources <= kNarrow && num_targets <= kNarrow) {
    return Builder<std::uint32_t>(writer, relation, num_sources, num_targets, options, arena)
        .run(edges);
  }
  return Builder<std::uint64_t>(writer, relation, num_sources, num_targets, options, arena)
      .run(edges);
}

}  // namespace sluice
