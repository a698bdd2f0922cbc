#include "prep/layout/left_out.h"

#include "prep/table/column_names.h"
#include "prep/table/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace sluice {
namespace {

using namespace std::string_view_literals;

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array kArchives{
    ".zip"sv, ".tar"sv, ".tgz"sv, ".7z"sv, ".rar"sv, ".bz2"sv, ".xz"sv, ".lz4"sv, ".z"sv};
constexpr std::array kPickles{
    ".pkl"sv, ".pickle"sv, ".gpickle"sv, ".joblib"sv, ".p"sv, ".allx"sv, ".ally"sv};
constexpr std::array kTorch{".pt"sv, ".pth"sv, ".ckpt"sv, ".safetensors"sv};
constexpr std::array kJson{".json"sv, ".jsonl"sv, ".ndjson"sv, ".geojson"sv};

}  // namespace

bool goes_with_data(const std::string& name) {
  static constexpr std::array kExtensions{
      ".md"sv, ".rst"sv, ".html"sv, ".htm"sv, ".pdf"sv, ".py"sv,   ".ipynb"sv, ".sh"sv,  ".log"sv,
      ".r"sv,  ".rmd"sv, ".m"sv,    ".cff"sv, ".bib"sv, ".tex"sv,  ".toml"sv,  ".css"sv, ".js"sv,
      ".c"sv,  ".cpp"sv, ".h"sv,    ".crc"sv, ".md5"sv, ".sha1"sv, ".sha256"sv};
  static constexpr std::array kStarts{"readme"sv,
                                      "license"sv,
                                      "licence"sv,
                                      "copying"sv,
                                      "citation"sv,
                                      "changelog"sv,
                                      "notice"sv,
                                      "makefile"sv,
                                      "dockerfile"sv};
  const std::string base = lower_name(base_name(name));
  return is_among(std::filesystem::path(base).extension().string(), kExtensions) ||
         std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) {
           return base.starts_with(start);
         });
}

std::string extension_of(const std::string& name) {
  return text_extension(base_name(name));
}

std::string why_unread(const std::string& name) {
  const std::string extension = extension_of(name);
  if (is_among(extension, kJson))
    return "JSON is not read: write what it holds as .csv, id and value a row, or as .npy";
  if (is_among(extension, kArchives)) return "archives are not read: unpack it";
  if (is_among(extension, kPickles))
    return "pickles are not read: in Python, numpy.save or pandas' to_csv write what it holds";
  if (is_among(extension, kTorch))
    return "files that torch.save wrote are not read: in Python, numpy.save('FILE.npy', "
           "torch.load(...).numpy())";
  if (extension.empty())
    return "it has no extension by which its format is known: a graph.toml can say the format, "
           "format = \"list\" (csv, triples, ...)";
  return fmt::format(
      "no table format is known by the extension '{}': a graph.toml can say it, "
      "format = \"list\" (csv, triples, ...)",
      extension);
}

std::vector<std::string> unread_files(const FileSet& files, const std::string& said) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const std::string& name : files.names()) {
    if (goes_with_data(name) || !files.format_of(name).empty()) continue;
    if (files.looked_at(name) || said.find(base_name(name)) != std::string::npos) continue;
    if (lines.size() == kMost) {
      ++more;
    } else {
      lines.push_back(fmt::format("{}: {}", name, why_unread(name)));
    }
  }
  if (more != 0) lines.push_back(fmt::format("and {} more files", more));
  return lines;
}

}  // namespace sluice
