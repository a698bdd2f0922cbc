#include "pipeline/trace.h"

#include "core/json_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace sluice {
namespace {

void append_string(std::string& out, std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) {
    fmt::format_to(std::back_inserter(out), "\"{}\"", text);
  } else {  // bytes that are not UTF-8 become U+FFFD, as JSON has no way to say them
    out += json_text(nlohmann::json(text));
  }
}

void append_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

/// Microseconds with the nanoseconds behind the point.
void append_time(std::string& out, std::string_view key, TraceWriter::Clock::duration time) {
  const auto ns =
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(), 0);
  fmt::format_to(std::back_inserter(out), ",\"{}\":{}.{:03}", key, ns / 1000, ns % 1000);
}

}  // namespace

TraceWriter::TraceWriter(std::filesystem::path target,
                         MemoryLedger* ledger,
                         std::string_view process)
    : origin_(Clock::now()), process_id_(::getpid()) {
  if (ledger != nullptr) charge_ = ledger->charge("trace", kChargedBytes).or_throw();
  file_.emplace(std::move(target));
  buffer_.reserve(kChargedBytes);
  buffer_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  begin_event("process_name", 'M', 0);
  buffer_ += ",\"args\":{\"name\":";
  append_string(buffer_, process);
  buffer_ += '}';
  end_event();
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::begin_event(std::string_view name, char phase, std::uint32_t thread) {
  buffer_ += first_ ? "\n{\"name\":" : ",\n{\"name\":";
  first_ = false;
  append_string(buffer_, name);
  fmt::format_to(std::back_inserter(buffer_),
                 ",\"ph\":\"{}\",\"pid\":{},\"tid\":{}",
                 phase,
                 process_id_,
                 thread);
}

void TraceWriter::end_event() {
  buffer_ += '}';
  if (buffer_.size() >= kBufferBytes) flush();
}

void TraceWriter::flush() noexcept {
  try {
    file_->append(buffer_);
  } catch (Error& error) {
    failure_ = std::move(error);
    recording_ = false;
  }
  buffer_.clear();
}

/// The row of that name; says its name in the trace when it is new.
std::uint32_t TraceWriter::row_of(std::string_view name) {
  if (const auto known = rows_.find(name); known != rows_.end()) return known->second;
  const auto row = static_cast<std::uint32_t>(rows_.size() + 1);
  rows_.emplace(name, row);
  begin_event("thread_name", 'M', row);
  buffer_ += ",\"args\":{\"name\":";
  append_string(buffer_, name);
  buffer_ += '}';
  end_event();
  return row;
}

void TraceWriter::name_thread(std::string_view name) {
  if (!recording_) return;
  const MutexLock lock(mutex_);
  threads_[std::this_thread::get_id()] = row_of(name);
}

/// Of the calling thread, which is "thread N" until it has a name.
std::uint32_t TraceWriter::thread_number() {
  const auto [known, is_new] = threads_.try_emplace(std::this_thread::get_id(), 0);
  if (is_new) known->second = row_of(fmt::format("thread {}", threads_.size()));
  return known->second;
}

void TraceWriter::span(std::string_view name,
                       Clock::time_point begin,
                       Clock::time_point end,
                       std::span<const TraceNote> notes) {
  if (!recording_) return;
  const MutexLock lock(mutex_);
  begin_event(name, 'X', thread_number());
  append_time(buffer_, "ts", begin - origin_);
  append_time(buffer_, "dur", end - begin);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    buffer_ += i == 0 ? ",\"args\":{" : ",";
    append_string(buffer_, notes[i].name);
    buffer_ += ':';
    append_number(buffer_, notes[i].value);
  }
  if (!notes.empty()) buffer_ += '}';
  end_event();
}

void TraceWriter::count(std::string_view name, double value) {
  if (!recording_) return;
  const MutexLock lock(mutex_);
  begin_event(name, 'C', 0);
  append_time(buffer_, "ts", Clock::now() - origin_);
  buffer_ += ",\"args\":{\"value\":";
  append_number(buffer_, value);
  buffer_ += '}';
  end_event();
}

void TraceWriter::close() {
  const MutexLock lock(mutex_);
  if (recording_) {
    buffer_ += "\n]}\n";
    flush();
    recording_ = false;
  }
  if (!file_) return;
  AtomicFile& file = *file_;
  if (failure_) {
    file_.reset();
    throw Error(*failure_);
  }
  file.commit();
  file_.reset();
}

void TraceSpan::end() noexcept {
  try {
    writer_->span(name_, begin_, TraceWriter::Clock::now(), std::span(notes_).first(num_notes_));
  } catch (...) {  // no memory for a thread's name: the span is lost, the run goes on
  }
}

}  // namespace sluice
