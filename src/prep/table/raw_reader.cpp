#include "prep/table/raw_reader.h"

#include "prep/table/raw_widths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

namespace sluice {

namespace {

/// Whether `named`, as graph.toml has it (a file, a folder or a pattern), is the file at `path`.
bool is_raw_file(const std::string& named, const std::filesystem::path& path) {
  const std::string full = path.lexically_normal().string();
  const std::string end = std::filesystem::path(named).lexically_normal().string();
  if (end.empty() || end == full || full.ends_with("/" + end)) return !end.empty();
  for (const std::string& pattern : {end, end + "/*"}) {
    for (const std::string& whole : {pattern, "*/" + pattern})
      if (::fnmatch(whole.c_str(), full.c_str(), 0) == 0) return true;
  }
  return false;
}

const RawReader::Content& raw_content(const RawReader::Options& options,
                                      const std::filesystem::path& path) {
  for (const RawReader::FileContent& own : options.files)
    if (is_raw_file(own.file, path)) return own;
  return options;
}

RawReader::Content checked_raw_content(const RawReader::Options& options,
                                       const std::filesystem::path& path) {
  const RawReader::Content& content = raw_content(options, path);
  if (content.dtype && content.width != 0) return content;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("nothing says what this raw file holds: {} missing",
                  content.dtype        ? "its width is"
                  : content.width == 0 ? "its dtype and width are"
                                       : "its dtype is"),
      fmt::format("say [raw] dtype, \"f32\" or the like, and width, the elements a row; or "
                  "for this file alone: [[raw.files]] file = \"{}\", dtype = ..., width = ...",
                  path.filename().string()),
      Place{path.string(), -1, -1, -1});
}

}  // namespace

void RawReader::Content::describe(Schema& schema) {
  schema
      .choice<std::optional<DType>>("dtype",
                                    dtype,
                                    {{"", std::nullopt, "not said: no raw file is read so"},
                                     {"i64", DType::kI64, "signed, 64 bits"},
                                     {"i32", DType::kI32, "signed, 32 bits"},
                                     {"i16", DType::kI16, "signed, 16 bits"},
                                     {"i8", DType::kI8, "signed, 8 bits"},
                                     {"u64", DType::kU64, "unsigned, 64 bits"},
                                     {"u32", DType::kU32, "unsigned, 32 bits"},
                                     {"u16", DType::kU16, "unsigned, 16 bits"},
                                     {"u8", DType::kU8, "unsigned, 8 bits"},
                                     {"f64", DType::kF64, "double precision"},
                                     {"f32", DType::kF32, "single precision"},
                                     {"f16", DType::kF16, "half precision"}})
      .help("what an element is, in the machine's byte order");
  schema.field("width", width)
      .range(0, 1 << 24)
      .help("elements a row, 2 for edges; 0: not said, no raw file is read so");
  schema.field("header", header).range(0, 0x1p40).help("bytes before the first row, skipped");
}

void RawReader::FileContent::describe(Schema& schema) {
  schema.field("file", file).required().help("the file, as it is named elsewhere in graph.toml");
  Content::describe(schema);
}

void RawReader::Options::describe(Schema& schema) {
  Content::describe(schema);
  schema.list("files", files, "a file that holds something else than [raw] says");
}

std::vector<std::string> RawReader::doubts(const Options& options, std::span<const TableUse> uses) {
  for (const FileContent& own : options.files) {
    if (std::any_of(uses.begin(), uses.end(), [&](const TableUse& use) {
          return is_raw_file(own.file, use.path);
        }))
      continue;
    throw Error(
        ErrorCode::kUsage,
        fmt::format("[[raw.files]] file = \"{}\": no raw file of that name is read", own.file),
        "name a file as it is named elsewhere, or leave it out");
  }
  std::vector<std::string> doubts;
  for (const TableUse& use : uses) {
    const Content& content = raw_content(options, use.path);
    if (!content.dtype || use.role.starts_with("times")) continue;
    const std::string doubt = raw_width_doubt(use.path, *content.dtype, content.header.bytes);
    if (!doubt.empty())
      doubts.push_back(fmt::format("{}: {}", use.path.filename().string(), doubt));
  }
  std::vector<const TableUse*> shared;
  for (const TableUse& use : uses)
    if (&raw_content(options, use.path) == &options) shared.push_back(&use);
  const bool differ = std::any_of(shared.begin(), shared.end(), [&](const TableUse* use) {
    return use->role != shared.front()->role;
  });
  if (!differ || !options.dtype || options.width == 0) return doubts;
  std::vector<std::string> names;
  names.reserve(shared.size());
  for (const TableUse* use : shared)
    names.push_back(fmt::format("{} ({})", use->path.filename().string(), use->role));
  doubts.push_back(
      fmt::format("one [raw] stands for {}: each is read as {}, {} a row; where one holds "
                  "something else say so in [[raw.files]]",
                  fmt::join(names, ", "),
                  to_string(*options.dtype),
                  options.width));
  return doubts;
}

RawReader::RawReader(const Options& options, const TableSource& source)
    : TableReader(source),
      content_(checked_raw_content(options, source.path)),
      file_(File::open_read(source.path).or_throw()) {
  const auto width = static_cast<std::uint32_t>(content_.width);
  const std::uint64_t row_bytes = width * std::uint64_t{size_of(*content_.dtype)};
  const std::uint64_t file_bytes = file_.size().or_throw();
  const std::uint64_t header = content_.header.bytes;
  const Place place{source.path.string(), -1, -1, -1};
  if (file_bytes < header) {
    throw Error(
        ErrorCode::kData,
        fmt::format("has {} bytes, fewer than the {} that [raw] header skips", file_bytes, header),
        "is this the file, and [raw] header its own?",
        place);
  }
  if ((file_bytes - header) % row_bytes != 0) {
    throw Error(
        ErrorCode::kData,
        fmt::format("{} bytes behind the header are no whole number of rows of {} bytes ({} {})",
                    file_bytes - header,
                    row_bytes,
                    width,
                    to_string(*content_.dtype)),
        "say [raw] dtype, width and header as the file was written; or it was cut short",
        place);
  }
  rows_ = (file_bytes - header) / row_bytes;
  columns_.push_back({"values", content_.dtype, width});
}

void RawReader::select(const std::vector<ColumnRequest>& requests) {
  chunk_rows_ = array_chunk_rows(columns_[0].width * size_of(*content_.dtype), rows_);
  column_.emplace(
      *this, columns_[0], only_request(*this, requests), chunk_rows_, source_.ledger, "raw chunks");
}

bool RawReader::next(TableChunk& chunk) {
  if (next_row_ == rows_) return false;
  const auto rows = static_cast<std::size_t>(std::min(chunk_rows_, rows_ - next_row_));
  file_.read_at(content_.header.bytes + next_row_ * column_->row_bytes(), column_->stored(rows))
      .or_throw();
  chunk.first_row = next_row_;
  chunk.rows = rows;
  next_row_ += rows;
  chunk.columns.assign(1, column_->values(chunk.first_row, rows));
  return true;
}

}  // namespace sluice
