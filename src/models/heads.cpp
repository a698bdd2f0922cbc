#include "models/heads.h"

#include <sluice/error.h>

#include <fmt/format.h>

namespace sluice::models {

void check_heads(std::string_view model, std::int64_t hidden, std::int64_t heads) {
  if (hidden % heads == 0) return;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("model '{}': hidden = {} is no multiple of heads = {}", model, hidden, heads),
      fmt::format("for example hidden = {}", (hidden / heads + 1) * heads));
}

}  // namespace sluice::models
