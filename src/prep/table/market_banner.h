// The first line of a MatrixMarket file, "%%MatrixMarket matrix coordinate real general": to other
// formats of text it is a comment, and the size behind it would be a row. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Whether a text may begin with such a line.
enum class Banner { kRefuse, kAllow };

/// What the line says, in lower case; words that are missing are empty.
struct MarketBanner {
  std::string object;    ///< "matrix"
  std::string form;      ///< "coordinate", "array"
  std::string field;     ///< "real", "integer", "pattern", "complex", "double"
  std::string symmetry;  ///< "general", "symmetric", "skew-symmetric", "hermitian"
};

/// Nothing for another line. One '%' is as good as two; letters may be of any case.
std::optional<MarketBanner> parse_market_banner(std::string_view line);

/// Throws Error(kData) where `text` begins with one. @param line its number
void refuse_market_banner(std::string_view text, const std::string& file, std::int64_t line);

}  // namespace sluice
