# SPDX-License-Identifier: Apache-2.0
"""tools/tour: every scene ends as it says, on a machine that can make boxes and on one that cannot."""
import subprocess

from lib import box, lacking, place as places

TOUR = places.ROOT / "tools" / "tour"
SCENES = 7


def tour(*before, place):
    return subprocess.run([*before, TOUR, places.binary()], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env=box.environment(), cwd=place.cwd)


def test_every_scene_of_the_tour_ends_as_it_must(place):
    done = tour(place=place)
    assert (done.returncode, done.stderr) == (0, ""), done
    ends = [line for line in done.stdout.splitlines() if line.lstrip().startswith("=> ")]
    assert len(ends) == SCENES and not any("instead of" in line for line in ends), done.stdout
    assert "\x1b" not in done.stdout and "s3cret" not in done.stdout.replace("export API_KEY=s3cret", "")


def test_where_no_box_can_be_made_the_tour_is_doctors_report(place):
    done = tour(*lacking.without_namespaces("max_net_namespaces", 0), place=place)
    assert done.returncode == 1 and "cannot build every wall" in done.stderr, done
    assert "missing net" in " ".join(done.stdout.split()) and "=> " not in done.stdout
