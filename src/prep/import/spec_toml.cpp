#include "prep/import/spec_toml.h"

#include "core/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

constexpr std::size_t kWidth = 100;

/// The text as lines of a comment; a line break in it is none of theirs.
std::string comment_lines(std::string_view words) {
  const std::string text = as_utf8(words);  // it may quote names of files
  std::string out, line = "#";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n\r", at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    if (line.size() + 1 + word.size() > kWidth && line != "#") {
      out += line + "\n";
      line = "#";
    }
    if (!word.empty()) line += " ";
    // Control characters may not stand in a comment.
    for (const char c : word) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    at = end + 1;
  }
  return out + line + "\n";
}

/// A line to be switched on: one line, and nothing else.
std::string offered_line(std::string_view text) {
  std::string line = "# ";
  for (const char c : text) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return line + "\n";
}

/// Prints tables beside the same tables as they are by default.
class Printer {
 public:
  explicit Printer(const SpecComments& comments) : comments_(comments) {}

  /// The keys of a table.
  std::string fields(const Schema& values,
                     const Schema& defaults,
                     const std::string& path,
                     const std::string& prefix) const {
    std::string out;
    for (std::size_t i = 0; i < values.fields().size(); ++i) {
      const Field& field = *values.fields()[i];
      const std::string key = prefix + field.key();
      const auto comment = comments_.at.find(path.empty() ? key : fmt::format("{}.{}", path, key));
      const bool said = comment != comments_.at.end();
      const std::string value = field.value_text();
      if (!said && !field.is_required() && value == defaults.fields()[i]->value_text()) continue;
      if (said) out += comment_lines(comment->second);
      out += fmt::format("{} = {}\n", key, value);
    }
    return out;
  }

  /// The keys of a table and, dotted, of the tables in it.
  std::string keys(const Schema& values,
                   const Schema& defaults,
                   const std::string& path,
                   const std::string& prefix = {}) const {
    std::string out = fields(values, defaults, path, prefix);
    for (std::size_t i = 0; i < values.nested().size(); ++i) {
      const Schema::Nested& nested = values.nested()[i];
      if (nested.list) continue;  // behind the table: inner_lists
      out += keys(*nested.schema,
                  *defaults.nested()[i].schema,
                  path,
                  fmt::format("{}{}.", prefix, nested.key));
    }
    return out;
  }

  /// A table of its own; nothing where there is nothing to say.
  std::string table(const Schema& values, const Schema& defaults, const std::string& name) const {
    const std::string inner = keys(values, defaults, name), lists = inner_lists(values, name);
    const std::string comment = comment_of(name);
    if (inner.empty() && comment.empty() && lists.empty()) return {};
    return fmt::format("\n{}[{}]\n{}{}", comment, name, inner, lists);
  }

  template <class Options>
  std::string list(std::vector<Options>& items, const std::string& name) const {
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Options fresh;
      Schema values, defaults;
      items[i].describe(values);
      fresh.describe(defaults);
      const std::string path = fmt::format("{}[{}]", name, i);
      out += fmt::format("\n{}[[{}]]\n{}", comment_of(path), name, keys(values, defaults, path));
      if (const auto offers = comments_.offers.find(path); offers != comments_.offers.end())
        for (const std::string& line : offers->second) out += offered_line(line);
    }
    return out;
  }

 private:
  /// The arrays of tables in a table: [[raw.files]].
  static std::string inner_lists(const Schema& values, const std::string& name) {
    std::string out;
    for (const Schema::Nested& nested : values.nested()) {
      for (std::size_t i = 0; nested.list && i < nested.list->count(); ++i) {
        out += fmt::format("\n[[{}.{}]]\n", name, nested.key);
        const Schema element = nested.list->at(i);
        for (const auto& field : element.fields())
          out += fmt::format("{} = {}\n", field->key(), field->value_text());
      }
    }
    return out;
  }

  std::string comment_of(const std::string& path) const {
    const auto comment = comments_.at.find(path);
    return comment == comments_.at.end() ? std::string() : comment_lines(comment->second);
  }

  const SpecComments& comments_;
};

}  // namespace

std::string to_toml(const GraphSpec& spec,
                    const TableFormats& known,
                    const SpecComments& comments) {
  const Printer printer(comments);
  std::string out;
  for (const std::string& paragraph : comments.head) out += comment_lines(paragraph);
  // A schema points into what it describes, so a copy is described.
  GraphSpec copy = spec;
  GraphSpec fresh(known);
  Schema values, defaults;
  copy.describe(values);
  fresh.describe(defaults);
  out += printer.fields(values, defaults, {}, {});
  out += printer.list(copy.nodes, "nodes");
  out += printer.list(copy.edges, "edges");
  out += printer.list(copy.splits, "splits");
  for (std::size_t i = 0; i < values.nested().size(); ++i) {
    const Schema::Nested& nested = values.nested()[i];
    if (nested.schema)
      out += printer.table(*nested.schema, *defaults.nested()[i].schema, nested.key);
  }
  return out;
}

}  // namespace sluice
