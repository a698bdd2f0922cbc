#include "core/csv_line.h"
#include "core/interrupt.h"
#include "probe/embedding_file.h"
#include "storage/io/file.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <ios>
#include <system_error>
#include <utility>

namespace sluice::probe {
namespace {

[[noreturn]] void refuse_csv(const std::filesystem::path& path,
                             std::int64_t line,
                             const std::string& what) {
  throw Error(
      ErrorCode::kData,
      what,
      "write the header id,e0,e1,... and a line a node, or numbers alone in the nodes' order",
      Place{path.string(), line, -1, -1});
}

bool number_in(const std::string& field, float& value) {
  std::string_view text = field;
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc{} && end == text.data() + text.size();
}

// Whether a column that is not called "id" holds ids all the same, by what tables call them.
bool named_like_ids(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  constexpr std::array kNames{
      "", "id", "ids", "node", "nodes", "nodeid", "name", "index", "unnamed: 0"};
  constexpr std::array kEndings{"_id", "-id", " id", ".id"};
  return std::ranges::find(kNames, std::string_view(name)) != kNames.end() ||
         std::ranges::any_of(kEndings, [&name](const char* end) { return name.ends_with(end); });
}

// Lines of a file, without their ends.
class CsvLines {
 public:
  explicit CsvLines(const std::filesystem::path& path) {
    (void)File::open_read(path).or_throw();  // says why where it cannot be opened
    file_.open(path, std::ios::binary);
  }
  bool next(std::string& line) {
    while (std::getline(file_, line)) {
      ++number_;
      if (line.ends_with('\r')) line.pop_back();
      if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      if (!line.empty()) return true;
    }
    return false;
  }
  std::int64_t number() const { return number_; }
  /// Whether lines ended because the file could not be read on.
  bool broken() const { return file_.bad(); }

 private:
  std::ifstream file_;
  std::int64_t number_ = 0;
};

}  // namespace

EmbeddingFile read_csv_embeddings(const std::filesystem::path& path, MemoryLedger* ledger) {
  CsvLines lines(path);
  std::string line;
  if (!lines.next(line)) refuse_csv(path, -1, "the file has no line");
  const std::vector<std::string> head = csv_fields(line);
  float value = 0;
  const bool header = std::ranges::none_of(
      head, [&value](const std::string& field) { return number_in(field, value); });
  const bool ids = header && !head.empty() && head.front() == "id";
  if (header && !ids && named_like_ids(head.front()))
    throw Error(ErrorCode::kData,
                fmt::format("column 1 is called '{}': it would be read as a value", head.front()),
                "call a column of ids 'id'; or leave it out, with rows in the nodes' order",
                Place{path.string(), lines.number(), -1, -1});
  const std::size_t first = ids ? 1 : 0;
  if (head.size() <= first) refuse_csv(path, lines.number(), "there is no column of numbers");
  // Tensors, which the ledger knows of.
  constexpr std::size_t kValuesAtOnce = std::size_t{1} << 20;
  std::vector<torch::Tensor> pieces;
  std::vector<float> values;
  const auto keep_values = [&] {
    pieces.push_back(torch::tensor(values, torch::kFloat32));
    values.clear();
  };
  EmbeddingFile::Texts texts;
  IdMemory memory(ledger);
  for (bool more = !header || lines.next(line); more; more = lines.next(line)) {
    if (lines.number() % 4096 == 0) throw_if_interrupted();
    std::vector<std::string> fields = csv_fields(line);
    if (fields.size() != head.size())
      refuse_csv(path,
                 lines.number(),
                 fmt::format("{} fields where the first line has {}", fields.size(), head.size()));
    for (std::size_t c = first; c < fields.size(); ++c) {
      if (!number_in(fields[c], value))
        refuse_csv(
            path, lines.number(), fmt::format("'{}' in column {} is no number", fields[c], c + 1));
      values.push_back(value);
    }
    if (ids) {
      // A list that grows takes up to three of its elements for each that it holds.
      memory.take(3 * sizeof(std::string) + fields.front().capacity() + 1);
      texts.push_back(std::move(fields.front()));
    }
    if (values.size() >= kValuesAtOnce) keep_values();
  }
  if (lines.broken())
    throw Error(ErrorCode::kIo,
                "the file cannot be read on",
                "check the disk that it is on",
                Place{path.string(), lines.number(), -1, -1});
  keep_values();
  EmbeddingFile read;
  const auto width = static_cast<std::int64_t>(head.size() - first);
  const torch::Tensor all = torch::cat(pieces);
  read.rows = all.view({all.numel() / width, width});
  if (ids) read.ids = std::move(texts);
  read.memory = std::move(memory);
  return read;
}

}  // namespace sluice::probe
