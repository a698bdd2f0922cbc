#include "prep/import/label_values.h"

#include "prep/table/text_cells.h"

#include <algorithm>

namespace sluice {

NoLabelValues::NoLabelValues(const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const std::string text(trimmed_cell(value));
    words_.insert(text);
    double number = 0;
    if (!text.empty() && parse_real_cell(text, number) == std::errc{}) {
      numbers_.push_back(number);
    } else if (!text.empty()) {
      has_words_ = true;
    }
  }
}

bool NoLabelValues::has(double value) const {
  return std::find(numbers_.begin(), numbers_.end(), value) != numbers_.end();
}

bool NoLabelValues::has(std::string_view text) const {
  return !words_.empty() && words_.contains(std::string(trimmed_cell(text)));
}

void ClassCount::take(std::int64_t label) {
  if (label < 0) return;
  const auto at = static_cast<std::size_t>(label);
  if (at >= kSmall) {
    if (large_.size() < kMostLarge && large_.insert(label).second) ++seen_;
    return;
  }
  if (at >= small_.size()) small_.resize(at + 1, false);
  if (small_[at]) return;
  small_[at] = true;
  ++seen_;
}

bool ClassCount::most_are_empty(std::uint64_t classes) const {
  return large_.size() < kMostLarge && seen_ != 0 && 2 * seen_ < classes;
}

}  // namespace sluice
