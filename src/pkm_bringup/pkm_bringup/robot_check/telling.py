"""Print a report and write its files."""

from __future__ import annotations

from pathlib import Path

from pkm_bringup.robot_check.findings import Report

#: s of message time that are listened to
DURATION = 10.0


def tell(report: Report, json_file: Path | None, driver_file: Path | None) -> int:
    """Print a report, write what is asked for, and return the exit code."""
    print(report.text(), flush=True)
    if json_file is not None:
        json_file.write_text(report.as_json(), encoding='utf-8')
    if driver_file is not None and report.driver_file:
        with driver_file.open('x', encoding='utf-8') as stream:  # a file that somebody wrote is not replaced
            stream.write(report.driver_file + '\n')
        print(f'wrote {driver_file}')
    return report.exit_code
