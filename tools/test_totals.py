#!/usr/bin/env python3
"""Print the totals of the JUnit files that scripts/test leaves: one line for ctest, one for pytest.

Usage: tools/test_totals.py FOLDER    Exits with 1 if a test failed.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def outcome(case: ElementTree.Element) -> str:
    """passed, failed or skipped; ctest puts it in an attribute, pytest in children."""
    if case.get("status") == "fail" or case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.get("status") in {"notrun", "disabled"} or case.find("skipped") is not None:
        return "skipped"
    return "passed"


def totals(files: list[Path]) -> Counter[str]:
    return Counter(outcome(case) for file in files for case in ElementTree.parse(file).iter("testcase"))


def main(folder: Path) -> int:
    failed = 0
    for runner in ("ctest", "pytest"):
        count = totals(sorted(folder.glob(f"{runner}*.xml")))
        print(f"{runner}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
        failed += count["failed"]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
