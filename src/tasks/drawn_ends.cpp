#include "tasks/drawn_ends.h"

#include <sluice/error.h>
#include <sluice/no_node.h>

#include <utility>

namespace sluice::tasks {
namespace {

// Draws an end at most; where all were refused there is none.
constexpr std::uint64_t kTries = 64;

bool among_answers(std::span<const KnownLinks::Entry> answers, std::uint64_t node) {
  return std::ranges::binary_search(answers, node, {}, &KnownLinks::Entry::answer);
}

}  // namespace

// A link, by the end that is drawn and the one that is told.
struct DrawnEnds::Asked {
  std::uint64_t own, told;
  std::uint32_t type;
  RandomKey key;
};

DrawnEnds::DrawnEnds(From from, KnownLinks::Looked looked)
    : from_(std::move(from)), looked_(looked) {}

Result<void> DrawnEnds::read(std::span<const std::uint64_t> numbers,
                             std::span<std::uint64_t> out) const {
  const std::size_t count = numbers.size();
  const bool typed = from_.data != nullptr && from_.links->have_ids();
  std::vector<std::uint64_t> sources(count), targets(count), ids(typed ? count : 0);
  if (auto found = from_.links->find(numbers, {sources, targets, ids}); !found) return found;
  const auto types = types_of_links(ids, count);
  if (!types) return types.error();
  const bool destination = looked_ == KnownLinks::Looked::kDestination;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t type = types.value()[i];
    draw({destination ? targets[i] : sources[i],
          destination ? sources[i] : targets[i],
          type,
          from_.key.with(sources[i]).with(type).with(targets[i])},
         out.subspan(i * from_.count, from_.count));
  }
  return {};
}

Result<std::vector<std::uint32_t>> DrawnEnds::types_of_links(std::span<const std::uint64_t> ids,
                                                             std::size_t count) const {
  try {
    return types_of(ids.empty() ? Array() : from_.data->labels(ids), count);
  } catch (const Error& error) {
    return error;
  }
}

void DrawnEnds::draw(const Asked& asked, std::span<std::uint64_t> out) const {
  KnownLinks::Answers known;
  if (from_.known) known = from_.known->answers(looked_, asked.told, asked.type);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const RandomKey key = asked.key.with(i);
    out[i] = kNoNode;
    for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
      const std::uint64_t node = key.below(from_.nodes, attempt);
      if (node == asked.own || among_answers(known.training, node) ||
          among_answers(known.others, node))
        continue;
      out[i] = node;
      break;
    }
  }
}

}  // namespace sluice::tasks
