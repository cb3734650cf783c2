#!/usr/bin/env python3
"""Prints "N passed, M failed" from CTest's JUnit report; exits with 1 if a test failed or none ran."""
import sys
import xml.etree.ElementTree as ElementTree


def main():
    cases = ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    failed = sum(case.get("status") == "fail" or case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = len(cases) - failed - skipped
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or passed == 0 else 0


sys.exit(main())
