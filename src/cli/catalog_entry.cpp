#include "cli/catalog_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::cli {
namespace {

std::string flag_of(const std::string& key) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// What a flag says as a value of TOML: a list may be written 64,256.
std::string value_of_flag(const Field& field, const std::string& text) {
  const bool texts = std::holds_alternative<std::vector<std::string>*>(field.target());
  const bool numbers = std::holds_alternative<std::vector<std::int64_t>*>(field.target()) ||
                       std::holds_alternative<std::vector<double>*>(field.target());
  if ((!texts && !numbers) || text.starts_with('[')) return text;
  if (numbers) return "[" + text + "]";
  std::string list;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", rest.substr(0, comma));
    if (comma == std::string_view::npos) return "[" + list + "]";
    rest.remove_prefix(comma + 1);
  }
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
  Selection selection{name_, catalog.make_options(name_)};
  Schema schema;
  selection.options->describe(schema);
  for (const auto& field : schema.fields()) {
    const auto given = values_.find(field->key());
    if (given == values_.end() || given->second.empty()) continue;
    config.set(fmt::format("{}={}", field->key(), value_of_flag(*field, given->second)),
               flag_of(field->key()));
  }
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
