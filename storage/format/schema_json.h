// The schema's part of the manifest, as JSON and back.
#pragma once

#include <sluice/graph_schema.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace sluice {

using Json = nlohmann::ordered_json;

/// Thrown while walking the JSON, turned into an Error at the top: which key is wrong and how.
struct Malformed {
  std::string what;
};

/// The value of a key; throws Malformed.
template <class T>
T get(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Malformed{fmt::format("key '{}' is missing", key)};
  // JSON's numbers convert into each other silently: what does not fit would wrap.
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (!found->is_number_unsigned() || !std::in_range<T>(found->template get<std::uint64_t>()))
      throw Malformed{
          fmt::format("key '{}' is no integer from 0 to {}", key, std::numeric_limits<T>::max())};
  }
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    throw Malformed{fmt::format("key '{}' has the wrong type", key)};
  }
}

Json schema_to_json(const GraphSchema& schema);
/// Throws Malformed.
GraphSchema schema_from_json(const Json& object);

}  // namespace sluice
