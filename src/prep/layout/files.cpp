#include "prep/layout/files.h"

#include "prep/layout/files_guess.h"

#include <fmt/format.h>

#include <string_view>

namespace sluice {

Description FilesGuess::run() {
  find_roles();
  find_edges();
  describe_nodes();
  describe_edges();
  describe_splits();
  made_.comments.head.push_back(
      "It is a guess: by names, extensions and first rows. Comments say what it stands on.");
  return std::move(made_);
}

/// Sets how a text is read; false where another file of its format is read otherwise.
bool FilesGuess::use_text(const std::string& file, TextGuess& text) {
  text = guess_text(files_, file);
  if (text.format.empty()) return false;
  constexpr std::string_view kNoHeader = "header = \"no\"\n";
  if (text.unsure && header_in_ && text.options.starts_with(kNoHeader)) {
    text.options.erase(0, kNoHeader.size());
    text.why =
        fmt::format("the first line is taken for names of columns, as it is in {}", *header_in_);
  }
  const std::string format = text.format == "auto" ? files_.format_of(file) : text.format;
  const auto [at, is_new] = options_.emplace(format, text.options);
  if (is_new && !text.options.empty()) {
    made_.set_format(format, text.options);
    made_.comment(format,
                  fmt::format("{}: {}.", file, text.why.empty() ? "its first line" : text.why));
  }
  if (at->second == text.options) return true;
  made_.warn(fmt::format(
      "{}: it is written unlike other files of the format {}, which has one table of options",
      file,
      format));
  return false;
}

/// What to say of a file for which use_text found no format.
std::string FilesGuess::say_unread(const std::string& file) const {
  if (files_.format_of(file) != "raw") return fmt::format("{}: it is no table that is read", file);
  return fmt::format(
      "{}: nothing says what this raw file holds: name it in a graph.toml, with [raw] dtype and "
      "width",
      file);
}

std::string FilesGuess::where(const NodeSpec& node) const {
  return fmt::format("nodes[{}]", &node - made_.spec.nodes.data());
}

std::optional<std::string> FilesLayout::recognise(const FileSet& /*files*/) const {
  return "no other one fits";
}

Description FilesLayout::describe(const FileSet& files) const {
  return FilesGuess(files).run();
}

}  // namespace sluice
