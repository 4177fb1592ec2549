"""What the controllers shall do."""

from __future__ import annotations

import bentpipe as bp
import pytest
from gentle import Gentle, GentleByRounds


@pytest.mark.parametrize("controller", [Gentle, GentleByRounds])
def test_on_a_link_that_loses_it_is_faster_than_reno(
    controller: type[Gentle] | type[GentleByRounds],
) -> None:
    link = bp.scenario("geo").set("flows.file.size", "5 MB")
    compared = link.compare([controller, "reno"], seeds=3)
    assert compared.ranking["variant"][0] == f"tcp-{controller.name or 'gentle'}"
