#include "app/reader/charset.h"

#include "tests/support/catch.h"

namespace palimpsest::tests {

using reader::decoded_text;

TEST_CASE("a byte-order mark decides, then what is declared, then the bytes")
{
    CHECK(decoded_text("\xEF\xBB\xBF\xC3\xA4").text == "\xC3\xA4");
    CHECK(decoded_text(std::string_view("\xFF\xFE\xE4\0", 4), "utf-8").text == "\xC3\xA4");
    CHECK(decoded_text(std::string_view("\xFE\xFF\0\xE4", 4)).text == "\xC3\xA4");
    CHECK(decoded_text(std::string_view("\xFF\xFE\0\0\xE4\0\0\0", 8)).text == "\xC3\xA4");
    CHECK(decoded_text("\x93x\x94", "ISO-8859-1").text ==
          "\xE2\x80\x9Cx\xE2\x80\x9D");                               // Windows-1252, as browsers do
    CHECK(decoded_text("\xC3\xA4", "iso-8859-1").text == "\xC3\xA4"); // declared wrongly
    CHECK(decoded_text("\xCF\xF0\xE8\xE2\xE5\xF2", "windows-1251").text == "Привет");
    CHECK(decoded_text("\x82\xB1", "Shift_JIS").text == "こ");
    CHECK(decoded_text("\xD6\xEC\xE9\x46\xBB\xF9", "gb2312").text == "朱镕基"); // GBK, as browsers do
    CHECK(decoded_text("\xC3\xA4", "utf-16").text == "\xC3\xA4");
    CHECK(decoded_text("\xC3\xA4", "no-such-charset").text == "\xC3\xA4");
    CHECK(decoded_text("\xC3\xA4").charset == "UTF-8");
}

TEST_CASE("text without a declaration is taken for what it looks like")
{
    std::string latin, russian;
    for (int i = 0; i < 20; ++i) {
        latin += "\xDC"
                 "ber die Br\xFC"
                 "cke ging der K\xF6nig, gr\xF6\xDF"
                 "er als je. ";
        russian += "\xCF\xF0\xE8\xE2\xE5\xF2, \xEA\xE0\xEA \xE4\xE5\xEB\xE0? ";
    }
    CHECK(decoded_text(latin).text.starts_with("Über die Brücke ging der König, größer als je."));
    CHECK(decoded_text(russian).text.starts_with("Привет, как дела?"));
}

TEST_CASE("HTML and XML declare their charset")
{
    using reader::declared_charset;
    CHECK(declared_charset("<?xml version='1.0' encoding='ISO-8859-2'?><html>") == "iso-8859-2");
    CHECK(declared_charset("<html><meta charset=\"Shift_JIS\">") == "shift_jis");
    CHECK(declared_charset("<meta http-equiv=content-type content='text/html; charset=windows-1251'>") ==
          "windows-1251");
    CHECK(declared_charset("<html><p>charset").empty());
    CHECK(declared_charset("charset=").empty());
}

} // namespace palimpsest::tests
