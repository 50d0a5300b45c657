"""logs: the output of one trial, byte for byte as far as a terminal can bear it."""


def test_characters_and_line_ends_survive_the_pieces_they_are_read_in(box):
    # Whatever the size of the pieces, some character and some line end lies across two of them.
    program = ("import sys; sys.stdout.buffer.write(b'a' + '\u20ac'.encode() * 70000 + b'\\n' + "
               "b'b\\r\\n' * 70000 + 'end \u20ac'.encode()[:-1])")
    box.ok("run", "n=1", "--name", "s", "--", "python3", "-c", program, "{n}")
    shown = box.ok("logs", "1", "--study", "s").out
    lines = shown.split("\n")
    assert lines[0] == "a" + "\u20ac" * 70000
    assert lines[1:-1] == ["b"] * 70000
    assert lines[-1].rstrip("\ufffd") == "end "


def test_a_carriage_return_within_a_line_is_shown_wherever_it_lies(box):
    program = "import sys; sys.stdout.write('\\r'.join(['x' * 65535, 'y' * 65535, 'z']))"
    box.ok("run", "n=1", "--name", "s", "--", "python3", "-c", program, "{n}")
    assert box.ok("logs", "1", "--study", "s").out.count("\\r") == 2


def test_several_trials_in_one_word_are_refused(box):
    box.ok("run", "n=1..3", "--name", "s", "--", "true")
    done = box.run("logs", "1-3", "--study", "s")
    assert done.code == 2 and "names 3 trials" in done.err, done.text
    assert "seedbed logs 1" in done.err
