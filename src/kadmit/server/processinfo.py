"""What the operating system knows of this process: for metrics. Where there is no /proc, most of it is left out."""

import os
import resource
import time
from pathlib import Path

_STAT = Path("/proc/self/stat")
_DESCRIPTORS = Path("/proc/self/fd")
_BOOT = Path("/proc/stat")


def read() -> dict[str, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    known: dict[str, float] = {
        "process_cpu_seconds_total": round(used.ru_utime + used.ru_stime, 2),
        "process_max_fds": float(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    }
    return known | _from_proc()


def _from_proc() -> dict[str, float]:
    try:
        # The name of the program, in brackets, may hold blanks.
        stat = _STAT.read_text().rpartition(")")[2].split()
        descriptors = len(os.listdir(_DESCRIPTORS))  # noqa: PTH208 - Path.iterdir makes a Path of each
    except OSError:
        return {}
    return {
        "process_open_fds": float(descriptors - 1),  # the listing itself opens one
        "process_resident_memory_bytes": float(int(stat[21]) * os.sysconf("SC_PAGE_SIZE")),
        "process_virtual_memory_bytes": float(stat[20]),
        "process_start_time_seconds": round(_boot_time() + int(stat[19]) / os.sysconf("SC_CLK_TCK"), 2),
    }


def _boot_time() -> float:
    for line in _BOOT.read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
