#!/usr/bin/env python3
"""Writes the traces of this folder: links as they have been measured, drawn from published facts.

Starlink: a terminal is assigned a satellite for 15 s, at the seconds 12, 27, 42 and 57 of each minute (Mohan et al., WWW
2024; Tanveer et al., CoNEXT 2023). At a change the delay steps by some milliseconds, and nothing arrives for up to some
hundred milliseconds. A round trip to the point of presence takes 20 to 40 ms and moves by some milliseconds within a slot,
with the frames of the uplink. Downlinks have 50 to 250 Mbit/s, uplinks 5 to 40, and change by a factor of two and more
within tens of seconds. Around a change 0.5 to 6 % of the packets of a second are lost, otherwise one of 10,000 on the way
down and two of a thousand on the way up.

A geostationary link in the rain: 50 Mbit/s in the clear, steps of the modulation as DVB-S2X has them down to a quarter
while a shower passes, errors before each step.
"""

import csv
import math
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 300
SLOT, FIRST = 15, 12


def write(name, rows):
    with open(HERE / f"{name}.csv", "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["time_s", "rate_bps", "delay_s", "loss", "up"])
        writer.writerows(rows)


def starlink(name, seed, rates, loss):
    draw = random.Random(seed)
    rows, row = [], {}
    steps = sorted({0, *range(FIRST, SECONDS, SLOT)})
    delay = draw.uniform(0.011, 0.018)
    for begin, end in zip(steps, [*steps[1:], SECONDS]):
        delay = min(0.020, max(0.010, delay + draw.choice((-1, 1)) * draw.uniform(0.002, 0.006)))
        rate = math.exp(draw.uniform(math.log(rates[0]), math.log(rates[1])))
        outage = draw.choice((0, 0, draw.uniform(0.02, 0.1), draw.uniform(0.1, 0.4))) if begin else 0
        if begin:
            row[round(begin - 0.5, 3)] = [None, None, draw.uniform(0.005, 0.06), None]
        if outage:
            row[round(begin, 3)] = [None, None, None, 0]
        # The rate wanders within the slot, the delay with the frames of the uplink.
        for tenth in range(0, (end - begin) * 10, 2):
            at = begin + tenth / 10
            if at < begin + outage:
                continue
            if tenth % 10 == 0 or tenth == 2:
                target = draw.uniform(math.log(rates[0]), math.log(rates[1]))
                rate = math.exp(0.9 * math.log(rate) + 0.1 * target)
            jitter = draw.uniform(0.0, 0.002)
            cells = row.setdefault(round(at, 3), [None, None, None, None])
            cells[0], cells[1] = int(rate), round(delay + jitter, 5)
        up = row.setdefault(round(begin + outage, 3), [None, None, None, None])
        up[0] = up[0] or int(rate)
        up[1] = up[1] or round(delay, 5)
        if outage or begin == 0:
            up[3] = 1
        quiet = row.setdefault(round(begin + (0.5 if begin else 0), 3), [None, None, None, None])
        quiet[2] = loss
    for at in sorted(row):
        rate_bps, delay_s, lost, state = row[at]
        lost = None if lost is None else round(lost, 5)
        rows.append([at, rate_bps, delay_s, lost, state])
    write(name, [[("" if cell is None else cell) for cell in row] for row in rows])


def rain():
    draw = random.Random(3)
    rows, last = [], None
    for second in range(SECONDS):
        # A shower of about two minutes, 12 dB at its worst, with scintillation.
        shower = 12 * math.exp(-(((second - 150) / 45) ** 2)) + draw.gauss(0, 0.3)
        # 1.5 dB for each step of the modulation; the next one is taken half a decibel late.
        step = max(0, min(6, int((shower + 0.5) / 1.5)))
        rate = int(50e6 * 0.25 ** (step / 6))
        margin = 1.5 * (step + 1) - 0.5 - shower + (2 if step == 0 else 0)
        loss = 0.02 if margin < 0.4 else 0.002 if margin < 0.8 else 0.0
        if (rate, loss) != last:
            rows.append([second, rate, 0.3 if last is None else "", loss, 1 if last is None else ""])
        last = (rate, loss)
    # Two lines a second apart at the end say how long it lasts.
    rows = [row for row in rows if row[0] < SECONDS - 2]
    rows += [[second, last[0], "", "", ""] for second in (SECONDS - 2, SECONDS - 1)]
    write("geo-rain", rows)


starlink("starlink-down", 1, (50e6, 250e6), 0.0001)
starlink("starlink-up", 2, (5e6, 40e6), 0.002)
rain()
