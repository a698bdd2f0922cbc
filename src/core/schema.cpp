// The descriptive half of options: fields, tables, their values as TOML and their reference text.
#include <sluice/options.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace sluice {
namespace {

template <class... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Shortest text that reads back to the same double, and that TOML takes for a float.
std::string float_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string wrap_help(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 100;
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t word = end - at;
    if (column != indent && column + 1 + word > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column != indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, word);
    column += word;
    at = end + 1;
  }
  return out;
}

std::string field_reference(const Field& field, int indent) {
  const std::string pad(static_cast<std::size_t>(indent) * 2, ' ');
  std::string line =
      fmt::format("{}{} = {}", pad, field.key(), field.is_required() ? "..." : field.value_text());
  std::string notes = field.type_name();
  if (!field.unit_text().empty()) notes += ", " + field.unit_text();
  if (const auto& limits = field.range_limits()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    notes += limits->second == kInfinity ? fmt::format(", at least {}", limits->first)
                                         : fmt::format(", {} to {}", limits->first, limits->second);
  }
  if (field.is_required()) notes += ", required";
  line += fmt::format("   # {}\n", notes);
  if (!field.help_text().empty()) {
    line += pad + "    " + wrap_help(field.help_text(), pad.size() + 4) + "\n";
  }
  if (const auto* choice = std::get_if<std::shared_ptr<EnumRef>>(&field.target())) {
    for (const auto& value : (*choice)->values()) {
      if (!value.help.empty()) line += fmt::format("{}    {}: {}\n", pad, value.name, value.help);
    }
  }
  return line;
}

}  // namespace

Field& Field::at_least(double low) {
  return range(low, std::numeric_limits<double>::infinity());
}

std::string Field::type_name() const {
  return std::visit(
      Overload{[](bool*) -> std::string { return "true or false"; },
               [](int*) -> std::string { return "integer"; },
               [](std::int64_t*) -> std::string { return "integer"; },
               [](std::uint64_t*) -> std::string { return "integer, not negative"; },
               [](double*) -> std::string { return "number"; },
               [](std::string*) -> std::string { return "text"; },
               [](ByteSize*) -> std::string { return "size such as \"2GiB\""; },
               [](Duration*) -> std::string { return "duration such as \"30s\""; },
               [](std::vector<std::int64_t>*) -> std::string { return "list of integers"; },
               [](std::vector<double>*) -> std::string { return "list of numbers"; },
               [](std::vector<std::string>*) -> std::string { return "list of texts"; },
               [](const std::shared_ptr<EnumRef>& choice) -> std::string {
                 std::vector<std::string> names;
                 for (const auto& value : choice->values()) names.push_back(quote(value.name));
                 return fmt::format("one of {}", fmt::join(names, ", "));
               }},
      target_);
}

std::string Field::value_text() const {
  return std::visit(
      Overload{[](bool* v) -> std::string { return *v ? "true" : "false"; },
               [](int* v) -> std::string { return std::to_string(*v); },
               [](std::int64_t* v) -> std::string { return std::to_string(*v); },
               [](std::uint64_t* v) -> std::string { return std::to_string(*v); },
               [](double* v) -> std::string { return float_text(*v); },
               [](std::string* v) -> std::string { return quote(*v); },
               [](ByteSize* v) -> std::string { return quote(format_bytes_exact(v->bytes)); },
               [](Duration* v) -> std::string { return quote(format_duration_exact(*v)); },
               [](std::vector<std::int64_t>* v) -> std::string {
                 return fmt::format("[{}]", fmt::join(*v, ", "));
               },
               [](std::vector<double>* v) -> std::string {
                 std::vector<std::string> texts;
                 for (const double x : *v) texts.push_back(float_text(x));
                 return fmt::format("[{}]", fmt::join(texts, ", "));
               },
               [](std::vector<std::string>* v) -> std::string {
                 std::vector<std::string> texts;
                 for (const std::string& x : *v) texts.push_back(quote(x));
                 return fmt::format("[{}]", fmt::join(texts, ", "));
               },
               [](const std::shared_ptr<EnumRef>& choice) -> std::string {
                 return quote(choice->get());
               }},
      target_);
}

Field& Schema::add_field(std::string key, Field::Target target) {
  fields_.push_back(std::make_unique<Field>(std::move(key), std::move(target)));
  return *fields_.back();
}

void Schema::add_section(std::string key, Schema schema, std::string help) {
  Nested entry;
  entry.key = std::move(key);
  entry.help = std::move(help);
  entry.schema = std::make_shared<Schema>(std::move(schema));
  nested_.push_back(std::move(entry));
}

void Schema::add_list(std::string key, List list, std::string reference, std::string help) {
  Nested entry;
  entry.key = std::move(key);
  entry.help = std::move(help);
  entry.list = std::make_shared<List>(std::move(list));
  entry.list_reference = std::move(reference);
  nested_.push_back(std::move(entry));
}

void Schema::selection(std::string key,
                       Selection& selection,
                       const OptionsCatalog& catalog,
                       std::string help) {
  if (!selection.options) selection.options = catalog.make_options(selection.type);
  Nested entry;
  entry.key = std::move(key);
  entry.help = std::move(help);
  entry.selection = &selection;
  entry.catalog = &catalog;
  nested_.push_back(std::move(entry));
}

std::string Schema::dump() const {
  std::string out;
  dump_into(out, "");
  return out;
}

void Schema::dump_into(std::string& out, const std::string& prefix) const {
  for (const auto& field : fields_)
    out += fmt::format("{} = {}\n", field->key(), field->value_text());
  for (const Nested& entry : nested_) {
    const std::string path = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (entry.list) {
      for (std::size_t i = 0; i < entry.list->count(); ++i) {
        out += fmt::format("\n[[{}]]\n", path);
        entry.list->at(i).dump_into(out, path);
      }
      continue;
    }
    out += fmt::format("\n[{}]\n", path);
    if (entry.schema) {
      entry.schema->dump_into(out, path);
    } else {
      out += fmt::format("type = {}\n", quote(entry.selection->type));
      if (entry.selection->options) {
        Schema inner;
        entry.selection->options->describe(inner);
        inner.dump_into(out, path);
      }
    }
  }
}

std::string Schema::reference(std::string_view table, int indent) const {
  std::string out;
  for (const auto& field : fields_) out += field_reference(*field, indent);
  const std::string pad(static_cast<std::size_t>(indent) * 2, ' ');
  for (const Nested& entry : nested_) {
    const std::string path = table.empty() ? entry.key : std::string(table) + "." + entry.key;
    out += fmt::format("\n{}{}{}{}   {}\n",
                       pad,
                       entry.list ? "[[" : "[",
                       path,
                       entry.list ? "]]" : "]",
                       entry.help.empty() ? "" : "# " + entry.help);
    if (entry.list) out += entry.list_reference;
    if (entry.schema) out += entry.schema->reference(path, indent + 1);
    if (entry.selection == nullptr) continue;
    out += fmt::format("{}  type = {}\n", pad, quote(entry.selection->type));
    for (const auto& known : entry.catalog->list()) {
      out += fmt::format("{}  {}: {}\n", pad, known.name, known.help);
      Schema inner;
      const auto options = entry.catalog->make_options(known.name);
      options->describe(inner);
      out += inner.reference(path, indent + 2);
    }
  }
  return out;
}

}  // namespace sluice
