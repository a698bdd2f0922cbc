// Fields of CSV on one line: as RFC 4180 has them, and whatever is written comes back.
#include "core/csv_line.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;

using Fields = std::vector<std::string>;

TEST_CASE("csv lines: fields, quoted ones, and quotes that do not end") {
  CHECK(csv_fields("") == Fields{""});
  CHECK(csv_fields("a,,b c,") == Fields{"a", "", "b c", ""});
  CHECK(csv_fields(R"("a,b",c)") == Fields{"a,b", "c"});
  CHECK(csv_fields(R"("say ""x""","")") == Fields{R"(say "x")", ""});
  CHECK(csv_fields(R"(a,"b)").empty());
  CHECK(csv_fields(R"(""")").empty());
}

TEST_CASE("csv lines: a field is quoted where it must be, and comes back") {
  CHECK(csv_field("plain text") == "plain text");
  CHECK(csv_field("") == "");
  CHECK(csv_field("a,b") == R"("a,b")");
  CHECK(csv_field(R"(a"b)") == R"("a""b")");
  CHECK(csv_field("a\nb") == "\"a\nb\"");
  const Fields fields{"first", "", ",", "\"", "\"\"", "a\"", "\r", "\xc3\xa9, x", "'"};
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + csv_field(field);
  CHECK(csv_fields(line) == fields);
}
