"""Print a report and write its files."""

from __future__ import annotations

from pathlib import Path

from pkm_description.writing import write_text

from pkm_bringup.robot_check.findings import Report

#: s of message time that are listened to
DURATION = 10.0


def tell(report: Report, json_file: Path | None, driver_file: Path | None) -> int:
    """Print a report, write what is asked for, and return the exit code."""
    print(report.text(), flush=True)
    if json_file is not None:
        write_text(json_file, report.as_json())
    if driver_file is not None and report.driver_file:
        write_text(driver_file, report.driver_file + '\n', exclusive=True)  # what somebody wrote is not replaced
        print(f'wrote {driver_file}')
    return report.exit_code
