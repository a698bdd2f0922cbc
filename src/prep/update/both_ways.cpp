#include "prep/update/both_ways.h"

#include "storage/format/relation_lists.h"
#include "storage/io/file.h"

#include <sluice/dtype.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kLookedLists = 1024, kLookedPairs = 64, kLongestList = 65536;

/// Reads numbers of 4 or 8 bytes here and there; false at the end of the file.
class Numbers {
 public:
  Numbers(const std::filesystem::path& path, std::size_t size)
      : file_(File::open_read(path).or_throw()), size_(size) {}

  bool read(std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t>& values) {
    std::vector<std::byte> bytes(count * size_);
    if (!file_.read_at(first * size_, bytes)) return false;
    values.assign(count, 0);
    // Little-endian, as all numbers of a dataset are.
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(&values[i], bytes.data() + i * size_, size_);
    return true;
  }

 private:
  File file_;
  std::size_t size_;
};

}  // namespace

bool first_edges_stand_both_ways(const std::filesystem::path& dataset,
                                 const GraphSchema& schema,
                                 const RelationSchema& relation) {
  const RelationLists lists = RelationLists::of(schema, relation, ListsOf::kTargets);
  if (relation.source != relation.target || lists.are_listed() || lists.edges == 0) return false;
  Numbers offsets(dataset / lists.offsets, sizeof(std::uint64_t));
  Numbers neighbours(dataset / lists.neighbours, size_of(node_id_dtype(lists.neighbour_nodes)));
  const std::uint64_t looked = std::min(lists.lists, kLookedLists);
  std::vector<std::uint64_t> starts, sources, range, back;
  if (!offsets.read(0, looked + 1, starts)) return false;
  std::uint64_t pairs = 0;
  for (std::uint64_t target = 0; target < looked && pairs < kLookedPairs; ++target) {
    const std::uint64_t most = std::min(starts[target + 1] - starts[target], kLookedPairs - pairs);
    if (most == 0) continue;
    if (!neighbours.read(starts[target], most, sources)) return false;
    for (const std::uint64_t source : sources) {
      if (source == target) continue;
      if (!offsets.read(source, 2, range)) return false;
      const std::uint64_t degree = range[1] - range[0];
      if (degree > kLongestList) continue;  // a hub's list says nothing more
      if (degree == 0 || !neighbours.read(range[0], degree, back)) return false;
      if (std::ranges::find(back, target) == back.end()) return false;
      ++pairs;
    }
  }
  return pairs != 0;
}

}  // namespace sluice
