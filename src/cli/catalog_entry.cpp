#include "cli/catalog_entry.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::cli {
namespace {

std::string flag_of(const std::string& key) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

void CatalogEntry::add_flags(CLI::App& command,
                             const OptionsCatalog& catalog,
                             const std::string& name) {
  name_ = name;
  const auto options = catalog.make_options(name);
  Schema schema;
  options->describe(schema);
  for (const auto& field : schema.fields()) {
    const std::string more = fmt::format("{} [{}]", field->type_name(), field->value_text());
    const std::string help =
        field->help_text().empty() ? more : fmt::format("{}; {}", field->help_text(), more);
    command.add_option(flag_of(field->key()), values_[field->key()], help)->type_name("");
  }
}

Selection CatalogEntry::selection(const OptionsCatalog& catalog) const {
  Config config = Config::parse("", "");
  for (const auto& [key, value] : values_) {
    if (!value.empty()) config.set(fmt::format("{}={}", key, value), flag_of(key));
  }
  Selection selection{name_, catalog.make_options(name_)};
  Schema schema;
  selection.options->describe(schema);
  config.bind(schema);
  return selection;
}

std::string CatalogEntry::command_line() const {
  std::string line = name_;
  for (const auto& [key, value] : values_) {
    if (!value.empty()) line += fmt::format(" {} {}", flag_of(key), value);
  }
  return line;
}

}  // namespace sluice::cli
