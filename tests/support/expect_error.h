// Runs something that must throw sluice::Error, and hands the error over for its code, text and
// hint to be checked.
#pragma once

#include <doctest/doctest.h>
#include <sluice/error.h>

namespace sluice::test {

template <class Action>
Error expect_error(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error(ErrorCode::kInternal, "no error was thrown");
}

}  // namespace sluice::test
