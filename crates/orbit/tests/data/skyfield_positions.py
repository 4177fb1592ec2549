"""Prints where Skyfield has the satellites of a file of element sets.

Arguments: the file, the start as YYYY-MM-DDTHH:MM:SS in UTC, and the number of minutes between two
places. Each line is the minute since the start, the number of the satellite in the file, its x, y and z
in km, and latitude and longitude of the point below it in degrees, those of a sphere; over one day.
"""

import math
import sys
from datetime import datetime, timezone

from skyfield.api import EarthSatellite, load
from skyfield.framelib import itrs
from skyfield.sgp4lib import TEME


def main() -> None:
    path, start, step = sys.argv[1:]
    begin = datetime.fromisoformat(start).replace(tzinfo=timezone.utc)
    scale = load.timescale(builtin=True)
    with open(path, encoding="ascii") as file:
        lines = [line.rstrip() for line in file if line[:2] in ("1 ", "2 ")]
    pairs = zip(lines[::2], lines[1::2])
    satellites = [EarthSatellite(first, second, ts=scale) for first, second in pairs]
    for minute in range(0, 1441, int(step)):
        at = scale.utc(begin.year, begin.month, begin.day, begin.hour, begin.minute + minute, begin.second)
        for number, satellite in enumerate(satellites):
            place = satellite.at(at)
            x, y, z = place.frame_xyz(TEME).km
            east, north, up = place.frame_xyz(itrs).km
            latitude = math.degrees(math.atan2(up, math.hypot(east, north)))
            longitude = math.degrees(math.atan2(north, east))
            print(minute, number, x, y, z, latitude, longitude)


main()
