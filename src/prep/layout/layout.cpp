#include "prep/layout/layout.h"

#include "core/utf8.h"
#include "prep/layout/left_out.h"
#include "storage/format/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <filesystem>

namespace sluice {
namespace {

// The whole path stands in the text, so that it can be saved anywhere.
void say_root(const std::filesystem::path& root, Description& made) {
  std::string path = std::filesystem::absolute(root).lexically_normal().generic_string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (valid_utf8(path)) {
    made.spec.root = std::move(path);
    made.comment("root", "Leave it out where this stands beside the files: both may move then.");
  } else if (root != ".") {
    made.spec.root = root.generic_string();
    made.comment("root", "From the folder where this was printed: save it there.");
  }
}

Description describe_by(const Layout& layout,
                        const std::string& name,
                        const std::string& why,
                        const FileSet& files) {
  Description made = layout.describe(files);
  std::string said;
  for (const std::string& warning : made.warnings) said += warning + "\n";
  for (const std::string& text : made.comments.head) said += text + "\n";
  for (const auto& [key, text] : made.comments.at) said += text + "\n";
  for (std::string& line : unread_files(files, said)) made.warn(std::move(line));
  say_root(files.root(), made);
  auto& head = made.comments.head;
  head.insert(head.begin(), fmt::format("Described by the layout \"{}\": {}.", name, why));
  for (const std::string& warning : made.warnings) head.push_back("Left out: " + warning);
  return made;
}

}  // namespace

void Description::set_format(const std::string& format, const std::string& toml) {
  Schema schema;
  spec.formats.at(format)->describe(schema);
  Config::parse(toml, "the layout").bind(schema);
}

void Description::comment(const std::string& where, const std::string& text) {
  if (text.empty()) return;
  std::string& at = comments.at[where];
  if (!at.empty()) at += ' ';
  at += text;
}

Description describe_files(const Layouts& layouts, const std::string& name, const FileSet& files) {
  std::vector<std::string> tried;
  for (const auto& entry : layouts.list()) {
    if (name != "auto" && name != entry.name) continue;
    const auto layout = layouts.create({entry.name, nullptr});
    if (const auto why = layout->recognise(files))
      return describe_by(*layout, entry.name, *why, files);
    tried.push_back(entry.name);
  }
  const Place place{files.root().string(), -1, -1, -1};
  if (tried.empty()) {
    std::vector<std::string> known{"auto"};
    for (const auto& entry : layouts.list()) known.push_back(entry.name);
    throw unknown_name(layouts.kind(), name, known);
  }
  constexpr std::size_t kMostNames = 5;
  std::vector<std::string> seen = files.names();
  const bool more = seen.size() > kMostNames;
  if (more) seen.resize(kMostNames);
  throw Error(ErrorCode::kData,
              fmt::format("this is not of the layout '{}', by its files: {}{}",
                          name,
                          fmt::join(seen, ", "),
                          more ? ", ..." : ""),
              "leave --layout out, or describe the files in a graph.toml (sluice-prep import "
              "--keys), and import it with --config",
              place);
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool usual = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (usual) {
      plain += c;
    } else if (!plain.empty() && plain.back() != '_') {
      plain += '_';  // never two, which part a relation's key
    }
  }
  while (!plain.empty() && plain.back() == '_') plain.pop_back();
  return name_problem(plain).empty() ? plain : "graph";
}

}  // namespace sluice
