#include <sluice/error.h>

#include <fmt/format.h>

namespace sluice {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kData:
      return "data";
    case ErrorCode::kResource:
      return "resource";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kInterrupted:
      return "interrupted";
  }
  return "internal";
}

std::string Place::describe() const {
  std::string text = file;
  if (line >= 0) text += fmt::format("{}{}", text.empty() ? "line " : ":", line);
  if (line >= 0 && column >= 0) text += fmt::format(":{}", column);
  if (offset >= 0) text += fmt::format("{}at byte {}", text.empty() ? "" : " ", offset);
  return text;
}

Error::Error(ErrorCode code, std::string message, std::string hint, Place place)
    : code_(code), message_(std::move(message)), hint_(std::move(hint)), place_(std::move(place)) {
  const std::string where = place_.describe();
  text_ = where.empty() ? message_ : where + ": " + message_;
}

}  // namespace sluice
