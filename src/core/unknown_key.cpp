#include "core/unknown_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

// The full name of a key of that name in any section, if there is one.
std::string section_with(const Schema& schema, std::string_view key, const std::string& path) {
  const auto below = [&](std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  };
  for (const auto& field : schema.fields())
    if (field->key() == key) return below(key);
  for (const auto& entry : schema.nested()) {
    if (!entry.schema) continue;
    std::string found = section_with(*entry.schema, key, below(entry.key));
    if (!found.empty()) return found;
  }
  return {};
}

std::vector<std::string> keys_of(const Schema& schema) {
  std::vector<std::string> keys;
  for (const auto& field : schema.fields()) keys.push_back(field->key());
  for (const auto& entry : schema.nested()) keys.push_back(entry.key);
  return keys;
}

// The types that a table may be of whose options have that key.
std::vector<std::string> types_with(const OptionsCatalog& catalog, std::string_view key) {
  std::vector<std::string> types;
  for (const auto& entry : catalog.list()) {
    const auto options = catalog.make_options(entry.name);
    Schema schema;
    options->describe(schema);
    const auto keys = keys_of(schema);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) types.push_back(entry.name);
  }
  return types;
}

}  // namespace

std::string unknown_key_hint(std::string_view key,
                             const Schema& schema,
                             const Schema& root,
                             const Schema::Nested* chosen) {
  std::vector<std::string> known = keys_of(schema);
  if (chosen != nullptr) known.insert(known.begin(), "type");
  const std::string all = fmt::format("known keys: {}", fmt::join(known, ", "));
  if (chosen != nullptr) {
    const auto types = types_with(*chosen->catalog, key);
    if (!types.empty())
      return fmt::format("it is a key of type {}, and the type here is \"{}\": leave it out; {}",
                         fmt::join(types, ", "),
                         chosen->selection->type,
                         all);
  }
  if (const auto nearest = nearest_word(key, known))
    return fmt::format("did you mean '{}'?", *nearest);
  const std::string other = section_with(root, key, {});
  return other.empty() ? all : fmt::format("did you mean '{}'?", other);
}

}  // namespace sluice
