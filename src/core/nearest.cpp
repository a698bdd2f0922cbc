// Did-you-mean: the nearest known word by edit distance (optimal string alignment), and the errors
// built on it.
#include <sluice/catalog.h>
#include <sluice/options.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width), last(width), row(width);
  for (std::size_t j = 0; j < width; ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

Error unknown_name(std::string_view kind,
                   std::string_view name,
                   const std::vector<std::string>& known) {
  std::string hint = fmt::format("known: {}", fmt::join(known, ", "));
  if (const auto nearest = nearest_word(name, known))
    hint = fmt::format("did you mean '{}'? {}", *nearest, hint);
  return Error(ErrorCode::kUsage, fmt::format("there is no {} '{}'", kind, name), std::move(hint));
}

Error name_taken(std::string_view kind, std::string_view name) {
  return {ErrorCode::kUsage,
          fmt::format("{} '{}' is there already", kind, name),
          "give yours another name"};
}

Selection select(const OptionsCatalog& catalog,
                 std::string_view kind,
                 std::string_view name,
                 const std::string& options) {
  Selection selection{std::string(name), catalog.make_options(name)};
  if (!selection.options) {
    std::vector<std::string> known;
    for (const OptionsCatalog::Entry& entry : catalog.list()) known.push_back(entry.name);
    throw unknown_name(kind, name, known);
  }
  Schema schema;
  selection.options->describe(schema);
  Config::parse(options, fmt::format("options of {} '{}'", kind, name)).bind(schema);
  return selection;
}

}  // namespace sluice
