"""What `make install` puts where, and that it works from there."""

import os
import shutil
import stat
import subprocess

import pytest

from conftest import binary_folder

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = """run plan add list status trials compare best show logs export stop pause resume cancel
              retry slots attach clean doctor capture-test""".split()


@pytest.fixture
def installed(box):
    """bin/ and libexec/seedbed/, as installed: the shim is not beside the binary."""
    prefix = box.home / "opt"
    for source, place in (("seedbed", "bin"), ("seedbed-shim", "libexec/seedbed")):
        (prefix / place).mkdir(parents=True)
        shutil.copy2(binary_folder() / source, prefix / place / source)
    return prefix


@pytest.fixture
def manual(box):
    """The folder of what tools/make-manual makes."""
    folder = box.home / "share"
    done = box.exec(["/usr/bin/python3", f"{ROOT}/tools/make-manual", binary_folder() / "seedbed",
                     folder])
    assert done.code == 0, done.text
    return folder


def test_the_shim_is_found_in_libexec(box, installed):
    box.env["PATH"] = f"{installed}/bin:/usr/bin:/bin"
    done = box.exec([installed / "bin/seedbed", "run", "a=1,2", "--", "true"])
    assert done.code == 0, done.text
    assert box.count("completed") == 2


def test_a_link_to_the_binary_works_too(box, installed):
    link = box.home / "elsewhere" / "seedbed"
    link.parent.mkdir()
    link.symlink_to(installed / "bin/seedbed")
    done = box.exec([link, "run", "a=1,2", "--", "true"])
    assert done.code == 0, done.text


def test_without_its_shim_it_says_what_is_missing(box, installed):
    shutil.rmtree(installed / "libexec")
    done = box.exec([installed / "bin/seedbed", "run", "a=1,2", "--", "true"])
    assert done.code == 5, done.text
    assert "seedbed-shim" in done.err


def test_the_shim_needs_no_libraries():
    shim = binary_folder() / "seedbed-shim"
    text = subprocess.run(["/usr/bin/file", shim], capture_output=True, text=True).stdout \
        if os.path.exists("/usr/bin/file") else ""
    assert os.stat(shim).st_mode & stat.S_IXUSR
    assert "dynamically" not in text
    assert b"/lib64/ld-linux" not in shim.read_bytes()


def test_the_manual_page_has_every_command(manual):
    page = (manual / "seedbed.1").read_text()
    for command in COMMANDS:
        assert f".SS {command.replace('-', chr(92) + '-')}\n" in page, command
    for option in ("--slots", "--limit", "--halt", "--retry-failed"):
        assert option.replace("-", "\\-") in page
    assert ".SH EXIT STATUS" in page


def complete(box, manual, *words):
    """What bash offers after these words, the last one being typed."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'compopt() { :; }; _seedbed; printf "%s\\n" "${COMPREPLY[@]}"')
    done = box.exec(["/bin/bash", "-c", script, "-", manual / "seedbed.bash", "seedbed", *words])
    assert done.code == 0, done.text
    return done.out.split()


def test_bash_completes_commands_options_choices_and_studies(box, manual):
    assert "compare" in complete(box, manual, "")
    assert complete(box, manual, "capt") == ["capture-test"]
    assert "--slots" in complete(box, manual, "run", "--sl")
    assert "json" in complete(box, manual, "trials", "--output", "")
    box.write("studies/first/study.db", "")
    box.write("studies/second one/study.db", "")
    assert complete(box, manual, "status", "") == ["first", "second\\", "one"]
    assert complete(box, manual, "run", "--", "--sl") in ([], [""])


def test_every_help_fits_a_screen_and_shows_an_example_of_its_own(box):
    for words in [[]] + [[command] for command in COMMANDS]:
        out = box.ok(*words, "--help").out
        assert len(out.splitlines()) <= 40, words
        assert max(map(len, out.splitlines())) <= 100, words
        example = out.split("Example:\n", 1)[1]
        assert example.startswith(" ".join(["  seedbed", *words])), words


def test_the_manual_page_has_the_example_of_each_command(manual):
    page = (manual / "seedbed.1").read_text().replace("\\-", "-")
    for command in COMMANDS:
        section = page.split(f".SS {command}\n", 1)[1].split("\n.S", 1)[0]
        assert f"Example:\n  seedbed {command}" in section, command


@pytest.mark.parametrize("words, meant", [
    (["trials", "--ouput", "json"], "--output"), (["trials", "--out=json"], "--output"),
    (["status", "--format", "json"], "--output"), (["trials", "--csv"], "--output csv"),
    (["--dir", "x", "list", "--outptu", "json"], "--output"), (["run", "--jobs", "4"], "--slots"),
    (["export", "--fromat", "csv"], "--format"), (["best", "--direction", "maximize"], "--goal"),
    (["trails"], "'seedbed trials'")])
def test_an_unknown_word_gets_the_one_that_was_meant(box, words, meant):
    done = box.run(*words)
    assert done.code == 2 and done.out == "", done.text
    assert f"did you mean {meant}?" in done.err, done.text


def test_an_option_that_another_command_has_is_not_suggested(box):
    done = box.run("stop", "--output", "json")
    assert done.code == 2 and "seedbed stop --help" in done.err, done.text


@pytest.mark.parametrize("shell,file", [("zsh", "_seedbed"), ("fish", "seedbed.fish")])
def test_other_shells_can_read_their_completion(box, manual, shell, file):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = box.exec([shell, "-n", manual / file])
    assert done.code == 0, done.text
