// The entries of a catalog by name, so that a test of all of them needs no list of its own.
#pragma once

#include <sluice/options.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

inline std::vector<std::string> names_of(const OptionsCatalog& catalog) {
  std::vector<std::string> names;
  for (const OptionsCatalog::Entry& entry : catalog.list()) names.push_back(entry.name);
  return names;
}

/// Of those that have such a key.
inline std::vector<std::string> names_with(const OptionsCatalog& catalog, std::string_view key) {
  std::vector<std::string> names = names_of(catalog);
  std::erase_if(names, [&](const std::string& name) {
    const auto options = catalog.make_options(name);
    Schema schema;
    options->describe(schema);
    return std::ranges::none_of(schema.fields(),
                                [&](const auto& field) { return field->key() == key; });
  });
  return names;
}

}  // namespace sluice::test
