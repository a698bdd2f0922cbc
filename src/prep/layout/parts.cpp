#include "prep/layout/parts.h"

#include "prep/table/shards.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

using namespace std::string_view_literals;

std::string folder_part(const std::string& name) {
  return name.substr(0, name.size() - base_name(name).size());
}

/// A name as pieces: what is a number or a UUID, and the texts between.
struct NameForm {
  std::vector<std::string> texts;    // one more than numbers
  std::vector<std::string> numbers;  // digits, or a UUID

  std::string shape() const {
    std::string out = texts[0];
    for (std::size_t i = 1; i < texts.size(); ++i) out += "\n" + texts[i];
    return out;
  }
};

bool is_uuid(std::string_view text) {
  static constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() < kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool hex = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (kShape[i] == '-' ? text[i] != '-' : !hex) return false;
  }
  return true;
}

NameForm form_of(std::string_view name) {
  NameForm form;
  form.texts.emplace_back();
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    if (is_uuid(name.substr(at))) {
      end = at + 36;
    } else {
      while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
    }
    if (end == at) {
      form.texts.back() += name[at++];
      continue;
    }
    form.numbers.emplace_back(name.substr(at, end - at));
    form.texts.emplace_back();
    at = end;
  }
  return form;
}

std::vector<std::string> letters_of(const NameForm& form) {
  std::vector<std::string> words;
  for (const std::string& text : form.texts) {
    words.emplace_back();
    for (const char c : text) {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (!words.back().empty()) {
        words.emplace_back();
      }
    }
  }
  std::erase(words, "");
  return words;
}

bool is_part_word(const std::string& word) {
  static constexpr std::array kWords{"part"sv,
                                     "parts"sv,
                                     "partition"sv,
                                     "shard"sv,
                                     "chunk"sv,
                                     "block"sv,
                                     "piece"sv,
                                     "batch"sv,
                                     "segment"sv,
                                     "slice"sv,
                                     "bucket"sv};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// What is numbered by names with these words is no part of a table, but one of many.
bool says_others(const std::string& word) {
  static constexpr std::array kWords{
      "graph"sv, "graphs"sv, "layer"sv,    "layers"sv, "relation"sv,  "rel"sv,  "snapshot"sv,
      "fold"sv,  "run"sv,    "seed"sv,     "year"sv,   "month"sv,     "day"sv,  "week"sv,
      "type"sv,  "view"sv,   "level"sv,    "hop"sv,    "train"sv,     "val"sv,  "valid"sv,
      "test"sv,  "dev"sv,    "training"sv, "trn"sv,    "tst"sv,       "mask"sv, "split"sv,
      "round"sv, "v"sv,      "version"sv,  "idx"sv,    "validation"sv};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// The name without its extensions, and these.
std::pair<std::string, std::string> parted_extension(const std::string& base) {
  const std::string stem = stem_of(base);
  return {stem, base.substr(stem.size())};
}

/// What a part's table is called: the words that are not about parts, or else its folder.
std::string table_name(const FileSet& files, const std::string& name) {
  const auto [stem, extension] = parted_extension(base_name(name));
  std::string own;
  for (const std::string& word : letters_of(form_of(stem))) {
    if (is_part_word(word) || word.size() == 1 || word == "of" || word == "data") continue;
    own += (own.empty() ? "" : "_") + word;
  }
  std::filesystem::path folder = folder_part(name);
  if (folder.has_relative_path()) folder = folder.parent_path();
  while (folder.filename().string().find('=') != std::string::npos) folder = folder.parent_path();
  std::string above = folder.filename().string();
  if (above.empty()) above = std::filesystem::absolute(files.root()).lexically_normal().filename();
  return (own.empty() ? above : own) + extension;
}

bool counts_from_start(const std::set<unsigned long long>& numbers) {
  return *numbers.begin() <= 1 && *numbers.rbegin() - *numbers.begin() + 1 == numbers.size();
}

/// Whether names that differ in their numbers alone are parts of one table.
bool are_parts(const std::vector<NameForm>& forms) {
  const auto words = letters_of(forms.front());
  if (std::any_of(words.begin(), words.end(), is_part_word)) return true;
  if (std::any_of(words.begin(), words.end(), says_others)) return false;
  for (std::size_t i = 0; i < forms.front().numbers.size(); ++i) {
    std::set<unsigned long long> numbers;
    bool zeros = false;
    for (const NameForm& form : forms) {
      const std::string& number = form.numbers[i];
      if (number.size() > 18) return false;  // no number that counts parts
      zeros = zeros || (number.size() > 1 && number[0] == '0');
      numbers.insert(std::stoull(number));
    }
    if (numbers.size() > 1 && !zeros && !counts_from_start(numbers)) return false;
  }
  return true;
}

/// A pattern with `star` for each number that differs; nothing where a name has signs of patterns.
std::string pattern_of(const std::vector<NameForm>& forms, const std::string& star) {
  std::string pattern;
  const NameForm& first = forms.front();
  for (std::size_t i = 0; i < first.texts.size(); ++i) {
    if (first.texts[i].find_first_of("*?[]\\") != std::string::npos) return {};
    pattern += first.texts[i];
    if (i == first.numbers.size()) break;
    const bool differs = std::any_of(forms.begin(), forms.end(), [&](const NameForm& form) {
      return form.numbers[i] != first.numbers[i];
    });
    pattern += differs ? star : first.numbers[i];
  }
  return pattern;
}

/// Whether a pattern matches these of the set's files, and no others.
bool matches_only(const FileSet& files,
                  const std::string& pattern,
                  const std::vector<std::string>& wanted) {
  std::size_t matched = 0;
  for (const std::string& name : files.names())
    if (fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) ++matched;
  return matched == wanted.size() &&
         std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
           return fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
         });
}

void note_folders(TableFiles& table, const std::string& name) {
  std::string above;
  for (const auto& part : std::filesystem::path(folder_part(name))) {
    const std::string folder = part.string();
    const auto mark = folder.find('=');
    if (mark != std::string::npos && mark != 0) {
      table.keys.push_back(folder.substr(0, mark));
      table.values.push_back(folder.substr(mark + 1));
    } else if (table.keys.empty() && !folder.empty()) {
      above += folder + "/";
    }
  }
  if (!table.keys.empty()) table.folder = above.empty() ? "./" : above;
}

TableFiles one_file(const FileSet& files, const std::string& name) {
  TableFiles table;
  table.file = name;
  table.name = name;
  note_folders(table, name);
  const auto words = letters_of(form_of(stem_of(name)));
  const bool part = !words.empty() && is_part_word(words.front());
  if (part || !table.keys.empty()) table.name = table_name(files, name);
  return table;
}

void add_group(const FileSet& files,
               const std::vector<std::string>& names,
               std::vector<TableFiles>& tables) {
  std::vector<NameForm> forms;
  forms.reserve(names.size());
  for (const std::string& name : names) forms.push_back(form_of(base_name(name)));
  if (names.size() > 1 && !forms.front().numbers.empty() && are_parts(forms)) {
    for (const char* star : {"*", "[0-9]*"}) {
      const std::string base = pattern_of(forms, star);
      const std::string folder = folder_part(names.front());
      if (base.empty() || folder.find_first_of("*?[]\\") != std::string::npos) break;
      if (!matches_only(files, folder + base, names)) continue;
      TableFiles table;
      table.file = folder + base;
      table.parts = names;
      std::sort(table.parts.begin(), table.parts.end(), numbered_less);
      table.name = table_name(files, names.front());
      table.why = fmt::format("{} files that differ in numbers alone are one table: {} to {}",
                              names.size(),
                              base_name(table.parts.front()),
                              base_name(table.parts.back()));
      note_folders(table, names.front());
      tables.push_back(std::move(table));
      return;
    }
  }
  for (const std::string& name : names) tables.push_back(one_file(files, name));
}

}  // namespace

std::vector<TableFiles> find_tables(const FileSet& files) {
  std::map<std::string, std::vector<std::string>> groups;  // by folder and form
  for (const std::string& name : files.names())
    groups[folder_part(name) + "\n" + form_of(base_name(name)).shape()].push_back(name);
  std::vector<TableFiles> tables;
  for (const auto& [key, names] : groups) add_group(files, names, tables);
  std::sort(tables.begin(), tables.end(), [](const TableFiles& a, const TableFiles& b) {
    return a.file < b.file;
  });
  return tables;
}

TableFiles joined_folders(const FileSet& files, const std::vector<TableFiles>& tables) {
  TableFiles all = tables.front();
  all.parts.clear();
  for (const TableFiles& table : tables) {
    if (table.parts.empty()) all.parts.push_back(table.file);
    all.parts.insert(all.parts.end(), table.parts.begin(), table.parts.end());
  }
  std::string pattern = all.folder == "./" ? "" : all.folder;
  for (const std::string& key : all.keys) pattern += key + "=*/";
  const std::string extension = parted_extension(base_name(all.parts.front())).second;
  all.file =
      matches_only(files, pattern + "*" + extension, all.parts) ? pattern + "*" + extension : "";
  all.why = fmt::format(
      "{} files in folders {} = ... are one table; what the folders' names say is "
      "in none of its columns",
      all.parts.size(),
      all.keys.front());
  return all;
}

}  // namespace sluice
