// JSON as text, whatever bytes its strings hold: what is no UTF-8 stands as U+FFFD, where
// nlohmann's own default is to throw. Names of files and cells of tables may hold any bytes, and a
// report, a manifest or an error must not fail for that.
#pragma once

#include <string>

namespace sluice {

/// @param Json nlohmann's json or ordered_json @param indent below 0: all on one line
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice
