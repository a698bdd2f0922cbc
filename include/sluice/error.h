// Errors as values and as exceptions: one type, one set of codes, for the whole engine.
//
// Hot paths and everything below `storage/` return `Result<T>`; the public API and the tools throw
// `Error`. An error says what went wrong (message), where (place), and what to do about it (hint).
// Thread-safe as values.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice {

/// The classes of failure. Each value is also the tools' exit code.
enum class ErrorCode : int {
  kUsage = 2,         ///< command line or configuration
  kData = 3,          ///< the user's files or a dataset
  kResource = 4,      ///< memory, disk space, GPU
  kIo = 5,            ///< the disk or the file system failed
  kInternal = 70,     ///< a bug in Sluice
  kInterrupted = 130  ///< stopped by the user
};

/// The short name of a code as `--json` prints it: "usage", "data", ...
std::string_view to_string(ErrorCode code);

/// Where an error is. Unset parts are empty or negative.
struct Place {
  std::string file;          ///< path as the user wrote it
  std::int64_t line = -1;    ///< 1-based
  std::int64_t column = -1;  ///< 1-based
  std::int64_t offset = -1;  ///< byte offset, for binary files

  /// "file:line:column", "file at byte N", or "" when nothing is known.
  std::string describe() const;
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, std::string hint = {}, Place place = {});

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }
  const Place& place() const noexcept { return place_; }

  /// "place: message", without the hint.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
  std::string hint_;
  Place place_;
  std::string text_;
};

/// Either a value or an Error. Must be looked at; `or_throw` turns the error into an exception.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  T or_throw() && {
    if (!ok()) throw std::get<1>(std::move(state_));
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

  void or_throw() && {
    if (error_) throw *std::move(error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace sluice
