"""The controller is killed at random moments; nothing is lost and nothing runs twice."""

import os
import random
import time

TRIALS = 200
KILLS = int(os.environ.get("SEEDBED_KILLS", "100"))

# Notes each start in a file of its own, works for a while, reports.
TRIAL = """\
echo "$SEEDBED_ATTEMPT" >> "$SEEDBED_TRIAL_DIR/starts"
sleep 0.2
echo "loss=$1"
"""


def run_words():
    return ("run", f"n=1..{TRIALS}", "--name", "kill", "--slots", "2", "--metric", "loss",
            "--goal", "minimize", "--", "sh", "trial.sh", "{n}")


def test_case_D5_200_trials_survive_100_kills_of_their_controller(box):
    seed = int(os.environ.get("SEEDBED_SEED", "1"))
    moments = random.Random(seed)
    box.write("trial.sh", TRIAL)
    killed = 0
    while killed < KILLS:
        controller = box.start(*run_words())
        # The random moment is the test: anywhere between the first step and a second of work.
        time.sleep(moments.uniform(0.005, 0.4))
        if not controller.running:
            assert controller.wait().code == 0, controller.wait().text
            break
        controller.kill()
        killed += 1
    assert killed >= min(KILLS, 50), f"only {killed} kills happened (seed {seed})"

    done = box.run(*run_words(), timeout=120)
    assert done.code == 0, done.text
    states = box.states("kill")
    assert len(states) == TRIALS
    assert set(states.values()) == {"completed"}
    finished = box.rows("SELECT body FROM records WHERE kind = 'trial_finished'", study="kill")
    assert len(finished) == TRIALS, "one terminal record for each trial"

    starts = {row["trial"]: row["n"] for row in box.rows(
        "SELECT trial, count(*) AS n FROM attempts WHERE started_ms IS NOT NULL GROUP BY trial",
        study="kill")}
    for trial in states:
        lines = (box.trial_dir(trial, "kill") / "starts").read_text().split()
        assert len(lines) == starts[trial] == 1, \
            f"trial {trial} started {len(lines)} times, recorded {starts[trial]} (seed {seed})"
    box.wait_for_no_processes()
