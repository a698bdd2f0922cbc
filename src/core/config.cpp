// The binding half of options: TOML in, members set, every problem reported at once.
#include <sluice/options.h>

#include "core/toml.h"
#include "core/unknown_key.h"
#include "core/utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <ios>
#include <limits>
#include <map>
#include <sstream>

namespace sluice {
namespace {

// Nodes that did not come from the file, and so have no line, with where they came from.
using Origins = std::map<const toml::node*, std::string>;

struct Problem {
  std::int64_t line = -1;
  std::int64_t column = -1;
  std::string message;
  std::string hint;
};

std::string join_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// Walks a table beside a schema, setting members and collecting problems.
class Binder {
 public:
  Binder(Origins overridden, const Schema& root)
      : overridden_(std::move(overridden)), root_(root) {}

  void bind_table(const toml::table& table,
                  const Schema& schema,
                  const std::string& path,
                  const Schema::Nested* chosen = nullptr);
  std::vector<Problem>& problems() { return problems_; }

 private:
  void bind_nested(const toml::node& node, const Schema::Nested& entry, const std::string& path);
  void bind_list(const toml::node& node, const Schema::Nested& entry, const std::string& path);
  void bind_selection(const toml::table& table,
                      const Schema::Nested& entry,
                      const std::string& path);
  void report(const toml::node& node, std::string message, std::string hint = {});
  void report_unknown(const toml::key& key,
                      const toml::node& node,
                      const Schema& schema,
                      const std::string& path,
                      const Schema::Nested* chosen);
  std::string hint_of_value(const Field& field,
                            const toml::node& node,
                            const std::string& path) const;

  Origins overridden_;
  const Schema& root_;
  std::vector<Problem> problems_;
};

std::string describe_node(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return fmt::format("the text \"{}\"", node.as_string()->get());
    case toml::node_type::integer:
      return fmt::format("the integer {}", node.as_integer()->get());
    case toml::node_type::floating_point:
      return fmt::format("the number {}", node.as_floating_point()->get());
    case toml::node_type::boolean:
      return node.as_boolean()->get() ? "true" : "false";
    default:
      return "a date or time";
  }
}

using Trouble = std::optional<std::string>;  // what is wrong with a value, or nothing

Trouble check_range(const Field& field, double value) {
  const auto& limits = field.range_limits();
  if (!limits || (value >= limits->first && value <= limits->second)) return {};
  if (limits->second == std::numeric_limits<double>::infinity()) {
    return fmt::format("{} is below the least allowed, {}", value, limits->first);
  }
  return fmt::format("{} is outside {} to {}", value, limits->first, limits->second);
}

Trouble expected(const Field& field, const toml::node& node) {
  return fmt::format("expected {}, found {}", field.type_name(), describe_node(node));
}

template <class Integer>
Trouble assign_integer(const Field& field, Integer& target, const toml::node& node) {
  const auto* value = node.as_integer();
  if (value == nullptr) return expected(field, node);
  if (!std::in_range<Integer>(value->get())) return fmt::format("{} does not fit", value->get());
  if (auto trouble = check_range(field, static_cast<double>(value->get()))) return trouble;
  target = static_cast<Integer>(value->get());
  return {};
}

Trouble assign(const Field& field, int* target, const toml::node& node) {
  return assign_integer(field, *target, node);
}
Trouble assign(const Field& field, std::int64_t* target, const toml::node& node) {
  return assign_integer(field, *target, node);
}
Trouble assign(const Field& field, std::uint64_t* target, const toml::node& node) {
  return assign_integer(field, *target, node);
}

Trouble assign(const Field& field, bool* target, const toml::node& node) {
  const auto* value = node.as_boolean();
  if (value == nullptr) return expected(field, node);
  *target = value->get();
  return {};
}

Trouble assign(const Field& field, double* target, const toml::node& node) {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value) return expected(field, node);
  if (std::isnan(*value)) return "nan is not a value";
  if (auto trouble = check_range(field, *value)) return trouble;
  *target = *value;
  return {};
}

Trouble assign(const Field& field, std::string* target, const toml::node& node) {
  const auto* value = node.as_string();
  if (value == nullptr) return expected(field, node);
  *target = value->get();
  return {};
}

Trouble assign(const Field& field, ByteSize* target, const toml::node& node) {
  ByteSize size;
  if (const auto* text = node.as_string()) {
    auto parsed = parse_bytes(text->get());
    if (!parsed) return parsed.error().message() + ": " + parsed.error().hint();
    size = parsed.value();
  } else if (const auto* number = node.as_integer(); number != nullptr && number->get() >= 0) {
    size.bytes = static_cast<std::uint64_t>(number->get());
  } else {
    return expected(field, node);
  }
  if (auto trouble = check_range(field, static_cast<double>(size.bytes))) return trouble;
  *target = size;
  return {};
}

Trouble assign(const Field& field, Duration* target, const toml::node& node) {
  const auto* text = node.as_string();
  if (text == nullptr) return expected(field, node);
  auto parsed = parse_duration(text->get());
  if (!parsed) return parsed.error().message() + ": " + parsed.error().hint();
  if (auto trouble = check_range(field, static_cast<double>(parsed.value().count())))
    return trouble;
  *target = parsed.value();
  return {};
}

template <class T>
Trouble assign(const Field& field, std::vector<T>* target, const toml::node& node) {
  const auto* array = node.as_array();
  if (array == nullptr) return expected(field, node);
  std::vector<T> values;
  for (const toml::node& element : *array) {
    T value{};
    if (assign(field, &value, element))
      return fmt::format("element {}: {}", values.size() + 1, *assign(field, &value, element));
    values.push_back(std::move(value));
  }
  *target = std::move(values);
  return {};
}

Trouble assign(const Field& field, const std::shared_ptr<EnumRef>& target, const toml::node& node) {
  const auto* text = node.as_string();
  if (text == nullptr) return expected(field, node);
  if (target->set(text->get())) return {};
  std::vector<std::string> names;
  for (const auto& value : target->values()) names.push_back(value.name);
  const auto nearest = nearest_word(text->get(), names);
  return fmt::format("\"{}\" is not {}{}",
                     text->get(),
                     field.type_name(),
                     nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "");
}

void Binder::report(const toml::node& node, std::string message, std::string hint) {
  Problem problem;
  if (const auto origin = overridden_.find(&node); origin != overridden_.end()) {
    message += fmt::format(" (from {})", origin->second);
  } else if (node.source().begin.line > 0) {
    problem.line = node.source().begin.line;
    problem.column = node.source().begin.column;
  }
  problem.message = std::move(message);
  problem.hint = std::move(hint);
  problems_.push_back(std::move(problem));
}

// Text that reads as a number, a date or a truth wants quotes.
std::string Binder::hint_of_value(const Field& field,
                                  const toml::node& node,
                                  const std::string& path) const {
  const bool text = std::holds_alternative<std::string*>(field.target());
  if (!text || !node.is_value() || node.is_string()) return {};
  return overridden_.contains(&node) ? fmt::format("put it in quotes: --set '{}=\"...\"'", path)
                                     : "put it in quotes";
}

void Binder::report_unknown(const toml::key& key,
                            const toml::node& node,
                            const Schema& schema,
                            const std::string& path,
                            const Schema::Nested* chosen) {
  const std::size_t before = problems_.size();
  // Tables around what was set have no line either.
  const toml::node* given = &node;
  while (given->source().begin.line == 0 && !overridden_.contains(given) && given->is_table() &&
         !given->as_table()->empty())
    given = &given->as_table()->begin()->second;
  report(*given,
         fmt::format("unknown key '{}'", join_path(path, key.str())),
         unknown_key_hint(key.str(), schema, root_, chosen));
  if (problems_[before].line >= 0 && key.source().begin.line > 0) {
    problems_[before].line = key.source().begin.line;
    problems_[before].column = key.source().begin.column;
  }
}

void Binder::bind_table(const toml::table& table,
                        const Schema& schema,
                        const std::string& path,
                        const Schema::Nested* chosen) {
  for (const auto& [key, node] : table) {
    if (chosen != nullptr && key.str() == "type") continue;
    const auto& fields = schema.fields();
    const auto field = std::find_if(
        fields.begin(), fields.end(), [&](const auto& f) { return f->key() == key.str(); });
    if (field != fields.end()) {
      const auto trouble = std::visit(
          [&](const auto& target) { return assign(**field, target, node); }, (*field)->target());
      const std::string full = join_path(path, key.str());
      if (trouble)
        report(node, fmt::format("'{}': {}", full, *trouble), hint_of_value(**field, node, full));
      continue;
    }
    const auto& nested = schema.nested();
    const auto entry = std::find_if(
        nested.begin(), nested.end(), [&](const auto& n) { return n.key == key.str(); });
    if (entry != nested.end()) {
      bind_nested(node, *entry, join_path(path, key.str()));
    } else {
      report_unknown(key, node, schema, path, chosen);
    }
  }
  for (const auto& field : schema.fields()) {
    if (field->is_required() && !table.contains(field->key())) {
      report(table,
             fmt::format("'{}' is required: {}", join_path(path, field->key()), field->type_name()),
             field->help_text());
    }
  }
}

void Binder::bind_nested(const toml::node& node,
                         const Schema::Nested& entry,
                         const std::string& path) {
  if (entry.list) return bind_list(node, entry, path);
  const auto* table = node.as_table();
  if (table == nullptr) {
    // `snapshot = "off"` is short for `snapshot = { type = "off" }`.
    if (const auto* name = node.as_string(); name != nullptr && entry.selection != nullptr) {
      const toml::table named{{"type", name->get()}};
      return bind_selection(named, entry, path);
    }
    return report(node, fmt::format("'{}': expected a table, found {}", path, describe_node(node)));
  }
  if (entry.schema) return bind_table(*table, *entry.schema, path);
  bind_selection(*table, entry, path);
}

void Binder::bind_list(const toml::node& node,
                       const Schema::Nested& entry,
                       const std::string& path) {
  const auto* array = node.as_array();
  if (array == nullptr) {
    return report(node,
                  fmt::format("'{}': expected [[{}]], found {}", path, path, describe_node(node)));
  }
  entry.list->reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    const toml::node& element = *array->get(i);
    if (const auto* table = element.as_table()) {
      bind_table(*table, entry.list->at(i), path);
    } else {
      report(element,
             fmt::format(
                 "'{}': element {} is {}, expected a table", path, i + 1, describe_node(element)));
    }
  }
}

void Binder::bind_selection(const toml::table& table,
                            const Schema::Nested& entry,
                            const std::string& path) {
  Selection& selection = *entry.selection;
  if (const toml::node* type = table.get("type")) {
    const auto* name = type->as_string();
    if (name == nullptr) {
      return report(*type,
                    fmt::format("'{}.type': expected text, found {}", path, describe_node(*type)));
    }
    auto options = entry.catalog->make_options(name->get());
    if (!options) {
      std::vector<std::string> known;
      for (const auto& candidate : entry.catalog->list()) known.push_back(candidate.name);
      const auto nearest = nearest_word(name->get(), known);
      return report(*type,
                    fmt::format("'{}.type': there is no \"{}\"", path, name->get()),
                    fmt::format("{}known: {}",
                                nearest ? fmt::format("did you mean '{}'? ", *nearest) : "",
                                fmt::join(known, ", ")));
    }
    selection.type = name->get();
    selection.options = std::move(options);
  }
  if (!selection.options) {
    return report(table, fmt::format("'{}.type' is required", path));
  }
  Schema inner;
  selection.options->describe(inner);
  bind_table(table, inner, path, &entry);
}

std::string snippet(const std::vector<std::string>& lines,
                    const Problem& problem,
                    std::string_view indent) {
  if (problem.line < 1 || problem.line > static_cast<std::int64_t>(lines.size())) return {};
  const std::string number = std::to_string(problem.line);
  const auto column = static_cast<std::size_t>(std::max<std::int64_t>(problem.column, 1)) - 1;
  return fmt::format("\n{}{} | {}\n{}{} | {}^",
                     indent,
                     number,
                     lines[static_cast<std::size_t>(problem.line) - 1],
                     indent,
                     std::string(number.size(), ' '),
                     std::string(column, ' '));
}

}  // namespace

struct Config::Document {
  std::string file;
  std::vector<std::string> lines;
  toml::table root;
  Origins overridden;

  [[noreturn]] void fail(std::vector<Problem> problems) const;
};

void Config::Document::fail(std::vector<Problem> problems) const {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (problems.size() == 1) {
    const Problem& only = problems.front();
    throw Error(ErrorCode::kUsage,
                only.message + snippet(lines, only, "    "),
                only.hint,
                Place{file, only.line, only.column, -1});
  }
  std::string text = fmt::format("{} problems", problems.size());
  for (const Problem& problem : problems) {
    const std::string where = Place{file, problem.line, problem.column, -1}.describe();
    text += fmt::format("\n  {}: {}{}{}",
                        where,
                        problem.message,
                        problem.hint.empty() ? "" : "; " + problem.hint,
                        snippet(lines, problem, "      "));
  }
  throw Error(ErrorCode::kUsage, std::move(text), {}, Place{file, -1, -1, -1});
}

Config::Config(std::unique_ptr<Document> document) : document_(std::move(document)) {}
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;
Config::~Config() = default;

const std::string& Config::file() const {
  return document_->file;
}

Config Config::parse(const std::string& text, std::string file) {
  auto document = std::make_unique<Document>();
  document->file = std::move(file);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) document->lines.push_back(line);
  for (std::size_t i = 0; i < document->lines.size(); ++i) {
    if (valid_utf8(document->lines[i])) continue;
    throw Error(ErrorCode::kUsage,
                "the line is not valid UTF-8",
                "save the file as UTF-8",
                Place{document->file, static_cast<std::int64_t>(i) + 1, -1, -1});
  }
  toml::parse_result parsed = toml::parse(text, document->file);
  if (!parsed) {
    const auto& where = parsed.error().source().begin;
    document->fail({{where.line,
                     where.column,
                     fmt::format("not valid TOML: {}", parsed.error().description()),
                     {}}});
  }
  document->root = std::move(parsed).table();
  return Config(std::move(document));
}

Config Config::load(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cannot read the configuration: {}", std::strerror(errno)),
                "check the path",
                Place{file, -1, -1, -1});
  }
  std::ostringstream text;
  // Nothing read is a failure to `text`, and an empty file none.
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || text.fail()) {
    throw Error(ErrorCode::kUsage,
                "cannot read the configuration",
                "is it a regular file?",
                Place{file, -1, -1, -1});
  }
  return parse(std::move(text).str(), file);
}

void Config::set(std::string_view assignment, std::string origin) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--set '{}' is not KEY=VALUE", assignment),
                "for example --set train.epochs=3");
  }
  // What is set may end in a file of TOML or in a name of the dataset.
  if (!valid_utf8(assignment)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} '{}' is not valid UTF-8", origin, assignment),
                "write it in UTF-8; to a file with such a name make a link: ln -s");
  }
  const std::string key(assignment.substr(0, equals));
  const std::string value(assignment.substr(equals + 1));
  toml::parse_result parsed = toml::parse(fmt::format("v = {}", value));
  toml::table holder;
  if (parsed) {
    holder = std::move(parsed).table();
  } else {
    holder.insert("v", value);
  }
  toml::table* table = &document_->root;
  std::string_view rest = key;
  for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    const std::string_view part = rest.substr(0, dot);
    if (!table->contains(part)) table->insert(part, toml::table{});
    toml::table* next = table->get(part)->as_table();
    if (next == nullptr) {
      throw Error(ErrorCode::kUsage, fmt::format("--set {}: '{}' is not a table", key, part));
    }
    table = next;
    rest = rest.substr(dot + 1);
  }
  if (rest.empty())
    throw Error(ErrorCode::kUsage, fmt::format("--set '{}' has an empty key", assignment));
  table->insert_or_assign(rest, std::move(*holder.get("v")));
  document_->overridden[table->get(rest)] = std::move(origin);
}

void Config::bind(Schema& schema) const {
  Binder binder(document_->overridden, schema);
  binder.bind_table(document_->root, schema, "");
  if (!binder.problems().empty()) document_->fail(std::move(binder.problems()));
}

}  // namespace sluice
