#include "models/table_groups.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

namespace sluice::models {
namespace {

constexpr std::string_view kOddEnding = "-odd", kEvenEnding = "-even";
constexpr std::size_t kMostRoundDigits = 4;

// A whole number that is written as such, without zeros in front.
std::optional<std::size_t> round_number(std::string_view text) {
  if (text.empty() || text.size() > kMostRoundDigits || text.front() == '0') return std::nullopt;
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<RoundOfRelation> round_of_relation(std::string_view table) {
  RoundOfRelation found;
  if (table.ends_with(kEvenEnding)) {
    found.parity = RoundOfRelation::Parity::kEven;
    table.remove_suffix(kEvenEnding.size());
  } else if (table.ends_with(kOddEnding)) {
    table.remove_suffix(kOddEnding.size());
  } else {
    return std::nullopt;
  }
  // The first part between two '-' that is a number: a table's NAME may have '-' too.
  for (std::size_t begin = table.find('-'); begin != std::string_view::npos;) {
    const std::size_t end = table.find('-', begin + 1);
    if (end == std::string_view::npos || end + 1 == table.size()) return std::nullopt;
    if (const auto round = round_number(table.substr(begin + 1, end - begin - 1))) {
      found.round = *round;
      found.relation = std::string(table.substr(0, begin)) + std::string(table.substr(end));
      return found;
    }
    begin = end;
  }
  return std::nullopt;
}

std::vector<TableGroup> group_tables(const std::vector<std::string>& names) {
  std::vector<TableGroup> groups;
  std::vector<std::size_t> rounds(names.size());
  std::map<std::string, std::size_t> known;  // the place of a group, by its name
  for (std::size_t at = 0; at < names.size(); ++at) {
    const auto round = round_of_relation(names[at]);
    if (!round) {
      groups.push_back({names[at], {at}});
      continue;
    }
    const bool even = round->parity == RoundOfRelation::Parity::kEven;
    rounds[at] = round->round;
    std::string name = round->relation + std::string(even ? kEvenEnding : kOddEnding);
    const auto [place, fresh] = known.emplace(name, groups.size());
    if (fresh) groups.push_back({std::move(name), {}, even});
    groups[place->second].tables.push_back(at);
  }
  for (TableGroup& group : groups)
    std::ranges::stable_sort(group.tables, {}, [&](std::size_t at) { return rounds[at]; });
  return groups;
}

}  // namespace sluice::models
