// sluice::Error as the exceptions of sluice/errors.py, by code.
#include "bindings.h"

#include <sluice/error.h>

#include <exception>

namespace sluice::python {
namespace {

namespace nb = nanobind;

// Text of a user's file may be any bytes.
nb::object text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

void raise(const Error& error) {
  if (error.code() == ErrorCode::kInterrupted) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return;
  }
  try {
    const Place& place = error.place();
    const nb::module_ errors = nb::module_::import_("sluice.errors");
    const nb::object made = errors.attr("made")(
        static_cast<int>(error.code()),
        text(error.message()),
        text(error.hint()),
        errors.attr("Place")(text(place.file), place.line, place.column, place.offset));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(error);
  }
}

}  // namespace

void add_errors(nb::module_&) {
  nb::register_exception_translator(translate);
}

}  // namespace sluice::python
