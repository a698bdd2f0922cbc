#include "prep/table/market_banner.h"

#include <sluice/error.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace sluice {

std::optional<MarketBanner> parse_market_banner(std::string_view line) {
  constexpr std::string_view kName = "matrixmarket";
  if (!line.starts_with('%')) return std::nullopt;
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of("% \t"), line.size()));
  std::string small;
  for (const char c : line) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!small.starts_with(kName)) return std::nullopt;
  MarketBanner banner;
  std::size_t at = kName.size();
  for (std::string* word : {&banner.object, &banner.form, &banner.field, &banner.symmetry}) {
    at = std::min(small.find_first_not_of(" \t\r", at), small.size());
    const std::size_t end = std::min(small.find_first_of(" \t\r", at), small.size());
    *word = small.substr(at, end - at);
    at = end;
  }
  return banner;
}

void refuse_market_banner(std::string_view text, const std::string& file, std::int64_t line) {
  if (!parse_market_banner(text.substr(0, 4096))) return;
  throw Error(ErrorCode::kData,
              "it is a MatrixMarket file: a size follows, which is no row",
              "say format = \"mtx\"; its columns are source, target and weight, and nodes count "
              "from 1: first_id = 1",
              Place{file, line, -1, -1});
}

}  // namespace sluice
