// Waits for a condition instead of a fixed time. A wait ends as soon as its condition holds; the limit only catches
// a program that hangs, because a sanitizer on two busy processors takes ten times as long as a desktop.
#pragma once

#include <QTest>

namespace palimpsest::ui::test {

inline constexpr int patience_ms = 120'000;

template<class Condition>
bool eventually(Condition&& condition, int limit_ms = patience_ms)
{
    return QTest::qWaitFor(condition, limit_ms);
}

// Runs the event loop for `ms` and checks `condition` throughout, to show that something does not happen. On a slow
// machine it can miss a violation, but it never reports a false one.
template<class Condition>
bool stays(Condition&& condition, int ms)
{
    return !QTest::qWaitFor([&] { return !condition(); }, ms);
}

} // namespace palimpsest::ui::test

// QTRY_VERIFY and QTRY_COMPARE with `patience_ms` as their limit.
#define EVENTUALLY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, ::palimpsest::ui::test::patience_ms)
#define EVENTUALLY_EQUAL(actual, expected)                                                                         \
    QTRY_COMPARE_WITH_TIMEOUT(actual, expected, ::palimpsest::ui::test::patience_ms)
