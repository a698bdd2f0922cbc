#include "storage/embedding/initial_values.h"

#include <sluice/error.h>
#include <sluice/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// The sum of eight 16-bit uniforms (Irwin-Hall), centred and scaled: additions and one product, so
// that every machine gives the same bits.
float close_to_normal(std::uint64_t one, std::uint64_t other) {
  const auto sum = [](std::uint64_t bits) {
    return (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
  };
  constexpr float kMean = 4.0f * 65535.0f;
  constexpr float kScale = 1.2247449f / 65536.0f;  // the root of 12 / 8
  return (static_cast<float>(sum(one) + sum(other)) - kMean) * kScale;
}

template <class ValueOf>
void fill_rows(std::uint64_t first,
               std::uint64_t count,
               std::uint32_t dim,
               float* out,
               std::size_t stride,
               const ValueOf& value_of) {
  for (std::uint64_t i = 0; i < count; ++i) {
    float* row = out + i * stride;
    for (std::uint32_t c = 0; c < dim; ++c) row[c] = value_of(first + i, c);
  }
}

void fill_from(const InitialRows& how,
               std::uint64_t first,
               std::uint64_t count,
               std::uint32_t dim,
               float* out,
               std::size_t stride) {
  constexpr std::uint64_t kAtOnce = 256;
  std::vector<std::uint64_t> rows;
  std::vector<float> values;
  for (std::uint64_t begin = 0; begin < count; begin += kAtOnce) {
    const std::uint64_t some = std::min(kAtOnce, count - begin);
    rows.clear();
    for (std::uint64_t i = 0; i < some; ++i) rows.push_back(first + begin + i);
    values.assign(some * dim, 0.0f);
    how.reader(rows, values);
    for (std::uint64_t i = 0; i < some; ++i)
      std::copy_n(values.data() + i * dim, dim, out + (begin + i) * stride);
  }
}

}  // namespace

InitialValues::InitialValues(InitialRows how) : how_(std::move(how)) {
  if (how_.kind != InitialRows::Kind::kReader || how_.reader) return;
  throw Error(ErrorCode::kInternal,
              "initial rows are to come from a reader, and none is given",
              "set InitialRows::reader");
}

void InitialValues::fill(std::uint64_t first,
                         std::uint64_t count,
                         std::uint32_t dim,
                         float* out,
                         std::size_t stride) const {
  const RandomKey key = RandomKey(how_.seed).with("embedding");
  const double scale = how_.scale;
  switch (how_.kind) {
    case InitialRows::Kind::kZero:
      return fill_rows(
          first, count, dim, out, stride, [](std::uint64_t, std::uint32_t) { return 0.0f; });
    case InitialRows::Kind::kUniform:
      return fill_rows(first, count, dim, out, stride, [&](std::uint64_t row, std::uint32_t c) {
        return static_cast<float>((2 * key.with(row).uniform(c) - 1) * scale);
      });
    case InitialRows::Kind::kNormal:
      return fill_rows(first, count, dim, out, stride, [&](std::uint64_t row, std::uint32_t c) {
        const RandomKey of = key.with(row);
        return close_to_normal(of.draw(2 * std::uint64_t{c}), of.draw(2 * std::uint64_t{c} + 1)) *
               static_cast<float>(scale);
      });
    case InitialRows::Kind::kReader:
      return fill_from(how_, first, count, dim, out, stride);
  }
}

std::string InitialValues::description() const {
  switch (how_.kind) {
    case InitialRows::Kind::kZero:
      return "zero";
    case InitialRows::Kind::kUniform:
      return fmt::format("uniform({}), seed {}", how_.scale, how_.seed);
    case InitialRows::Kind::kNormal:
      return fmt::format("normal({}), seed {}", how_.scale, how_.seed);
    case InitialRows::Kind::kReader:
      return fmt::format("from {}", how_.source);
  }
  return {};
}

// By writing it again: a number's text is the shortest that is read as the same.
std::optional<InitialValues> InitialValues::described(const std::string& description) {
  InitialRows how;
  const auto open = description.find('(');
  const auto close = description.find("), seed ");
  if (open != std::string::npos && close != std::string::npos && open < close) {
    how.kind = description.starts_with("normal") ? InitialRows::Kind::kNormal
                                                 : InitialRows::Kind::kUniform;
    how.scale = std::strtod(description.c_str() + open + 1, nullptr);
    how.seed = std::strtoull(description.c_str() + close + 8, nullptr, 10);
  }
  InitialValues values(std::move(how));
  if (values.description() != description) return std::nullopt;
  return values;
}

}  // namespace sluice
