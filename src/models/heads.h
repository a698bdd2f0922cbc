// What models with attention by heads ask of their widths.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::models {

/// Throws kUsage unless `hidden` is a multiple of `heads`.
void check_heads(std::string_view model, std::int64_t hidden, std::int64_t heads);

}  // namespace sluice::models
