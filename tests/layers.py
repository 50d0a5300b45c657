#!/usr/bin/python3
"""Holds the sources against the plan of the house (docs/architecture.md).

1. A room includes only what the table below allows and what its CMakeLists.txt links; no cycles.
2. Pure rooms touch neither files nor clocks nor the environment.
3. Calls that have a better way here are refused, each with the reason.
4. A file over 600 lines or a function over 70 needs a `// long: REASON` comment.
5. No dead files: every source is compiled, every header is included by somebody else.

Prints one line per finding, `file:line: what`, and ends with 1 when there is any.
`--self-test` breaks each rule in a made-up tree and expects it to be found.
"""

import argparse
import pathlib
import re
import sys
import tempfile

TABLE = {
    "base": "",
    "protocol": "base",
    "env": "base",
    "study": "base",
    "resources": "base",
    "samplers": "base study",
    "pruners": "base study",
    "engine": "base study resources pruners",
    "store": "base env study resources engine",
    "results": "base env study resources engine store",
    "machine": "base env resources",
    "launchers": "base protocol env resources",
    "metrics": "base env study",
    "reporters": "base protocol env study engine results",
    "controller": "base protocol env study resources samplers pruners engine store results machine"
                  " launchers metrics reporters",
    "server": "base protocol env study resources engine store results",
    "cli": "base protocol env study resources samplers pruners engine store results machine"
           " launchers metrics reporters controller server",
    "shim": "base protocol",
}
PURE = {"study", "resources", "samplers", "pruners", "engine"}
IMPURE_HEADER = re.compile(
    r"<(fstream|filesystem|iostream|unistd\.h|fcntl\.h|thread|mutex|random|sys/.*"
    r"|sqlite3\.h|asio.*|hwloc\.h)>")

MAX_FILE = 600
MAX_FUNCTION = 70

# (pattern, why, rooms in which it is right)
BANNED = [
    (r"(?<![\w.>:])(std::|::)?system\s*\(", "no shell: give an argument vector to a launcher", ()),
    (r"(?<![\w.>:])(::)?popen\s*\(", "no shell: give an argument vector to env/posix/command", ()),
    (r"(?<![\w.>:])(std::)?s?rand\s*\(", "base/random.h: the same on every machine", ()),
    (r"\brandom_device\b", "base/random.h: the same on every run", ("env",)),
    (r"(?<![\w.>:])(std::|::)?time\s*\(\s*(nullptr|NULL|0|&\w+)\s*\)", "ask the Clock",
     ("env", "shim")),
    (r"\bsystem_clock::now\b|\bgettimeofday\s*\(|\bCLOCK_REALTIME\b", "ask the Clock",
     ("env", "shim")),
    (r"\b(steady_clock|high_resolution_clock)::now\b|\bCLOCK_MONOTONIC\b",
     "time is an argument in a pure room", tuple(set(TABLE) - PURE)),
    (r"\bstd::regex\b|#\s*include\s*<regex>", "RE2: linear time, named groups", ()),
    (r"\bsleep_for\b|(?<![\w.>])(::)?u?sleep\s*\(", "wait for a condition or a timer of the loop",
     ("env", "shim", "cli")),
    (r"\b(TODO|FIXME|XXX)\b", "do it, or file it", ()),
]
BANNED_PYTHON = [
    (r"(?<![\w.])eval\s*\(", "no evaluation of text", ()),
    (r"\bos\.system\s*\(|\bshell\s*=\s*True", "no shell: give an argument vector", ()),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|(<[^>]+>))')
ROOM_CALL = re.compile(r"seedbed_room\(([^)]*)\)")


class Finding(str):
    """`file:line: what`."""


def strip(text):
    """The code with comments and the insides of literals blanked, line breaks kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"'
        r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)

    def blank(match):
        found = match.group(0)
        kept = "\n" * found.count("\n")
        return kept if found.startswith("/") else '""' + kept

    # Include lines keep their names.
    lines = text.split("\n")
    names = {i: line for i, line in enumerate(lines) if INCLUDE.match(line)}
    out = pattern.sub(blank, text).split("\n")
    for i, line in names.items():
        out[i] = line
    return "\n".join(out)


def rooms_of_cmake(root):
    """{room: (rooms it links, rooms its tests link besides)} from src/*/CMakeLists.txt."""
    rooms = {}
    for file in sorted((root / "src").glob("*/CMakeLists.txt")):
        text = re.sub(r"#[^\n]*", "", file.read_text())
        call = ROOM_CALL.search(text)
        words = call.group(1).split() if call else [file.parent.name]
        lists = {"ROOMS": [], "TEST_ROOMS": []}
        current = None
        for word in words[1:]:
            if word in ("ROOMS", "TEST_ROOMS", "LIBRARIES"):
                current = lists.get(word)
            elif current is not None:
                current.append(word)
        rooms[file.parent.name] = (set(lists["ROOMS"]), set(lists["TEST_ROOMS"]))
    if "shim" in rooms:
        rooms["shim"] = (set(TABLE["shim"].split()), set())
    return rooms


def check_rooms(root, rooms):
    for room, (linked, _) in sorted(rooms.items()):
        place = f"src/{room}/CMakeLists.txt:1"
        if room not in TABLE:
            yield Finding(f"{place}: a room that the plan does not know; add it to TABLE and to "
                          "docs/architecture.md")
            continue
        for extra in sorted(linked - set(TABLE[room].split())):
            yield Finding(f"{place}: {room} links {extra}, which the plan does not allow")
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and folder.name not in rooms:
            yield Finding(f"src/{folder.name}:1: a folder without CMakeLists.txt: nothing builds it")
    # A cycle cannot come from TABLE alone, but TABLE may be edited too.
    state = {}

    def visit(room, path):
        if state.get(room) == "done" or room not in rooms:
            return
        if room in path:
            cycle = path[path.index(room):] + [room]
            yield Finding(f"src/{room}/CMakeLists.txt:1: cycle {' -> '.join(cycle)}")
            return
        for other in sorted(rooms[room][0]):
            yield from visit(other, path + [room])
        state[room] = "done"

    for room in sorted(rooms):
        yield from visit(room, [])


def includes(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_includes(root, file, room, rooms):
    linked, test_linked = rooms.get(room, (set(), set()))
    is_test = file.stem.endswith("_test")
    allowed = {room} | linked | (test_linked if is_test else set())
    for number, own, foreign in includes(file.read_text(errors="replace")):
        place = f"{file.relative_to(root)}:{number}"
        if own:
            other = own.split("/")[0]
            if not (root / "src" / own).is_file() and not (file.parent / own).is_file():
                yield Finding(f"{place}: includes {own}, which is not there")
            elif "/" not in own:
                yield Finding(f"{place}: includes {own}; write the path from src/")
            elif other not in allowed:
                yield Finding(f"{place}: {room} includes {other}, which its CMakeLists.txt does "
                              "not link")
        elif room in PURE and not is_test and IMPURE_HEADER.match(foreign):
            yield Finding(f"{place}: {room} is pure, {foreign} is not")


def check_banned(name, room, code, rules):
    for number, line in enumerate(code.split("\n"), 1):
        for pattern, why, right in rules:
            if room not in right and re.search(pattern, line):
                yield Finding(f"{name}:{number}: `{line.strip()[:60]}`: {why}")


def functions(code):
    """(first line, last line) of each outermost function body, lines from 1."""
    scopes, since, line, start = [], "", 1, 1
    for char in code:
        if char == "{":
            head = since.strip()
            outer = all(kind == "scope" for kind, _ in scopes)
            if re.match(r"(inline\s+)?namespace\b|extern\s*\"\"", head):
                kind = "scope"
            elif re.search(r"\b(class|struct|union|enum)\b[^()=;]*$", head) and outer:
                kind = "scope"
            elif outer and ")" in head:
                kind = "function"
            else:
                kind = "block"
            scopes.append((kind, start if head else line))
            since = ""
        elif char == "}":
            if scopes:
                kind, first = scopes.pop()
                if kind == "function":
                    yield first, line
            since = ""
        elif char == ";":
            since = ""
        else:
            if since == "" and not char.isspace():
                start = line
            if since or not char.isspace():
                since += char
        if char == "\n":
            line += 1


def check_length(name, text, code):
    lines = text.split("\n")
    count = len(lines) - 1
    has_reason = [bool(re.search(r"//\s*long:\s*\S+", line)) for line in lines]
    if count > MAX_FILE and not any(has_reason[:20]):
        yield Finding(f"{name}:1: {count} lines; split it, or give the reason in the first lines: "
                      "`// long: REASON`")
    for first, last in functions(code):
        length = last - first + 1
        if length > MAX_FUNCTION and not any(has_reason[max(0, first - 3):last]):
            yield Finding(f"{name}:{first}: a function of {length} lines; split it, or give the "
                          "reason: `// long: REASON`")


def check_dead(root, files):
    included_by = {}
    for file in files:
        for _, own, _ in includes(file.read_text(errors="replace")):
            if own:
                included_by.setdefault(own, set()).add(file)
    beside = [f for f in (root / "tests").rglob("*.cc")] + [f for f in (root / "bench").rglob("*.cc")]
    for file in beside:
        for _, own, _ in includes(file.read_text(errors="replace")):
            if own:
                included_by.setdefault(own, set()).add(file)
    for file in files:
        path = file.relative_to(root / "src")
        if file.suffix == ".cc":
            folders = path.parts[1:-1]
            if folders not in ((), ("posix",)):
                yield Finding(f"src/{path}:1: dead: only ROOM/*.cc and ROOM/posix/*.cc are compiled")
        else:
            stem = file.stem
            users = [f for f in included_by.get(str(path), ())
                     if not (f.parent == file.parent and f.stem in (stem, stem + "_test"))]
            if not users:
                yield Finding(f"src/{path}:1: dead: nobody but its own source includes it")


def check(root):
    rooms = rooms_of_cmake(root)
    yield from check_rooms(root, rooms)
    files = sorted(f for f in (root / "src").rglob("*") if f.suffix in (".cc", ".h"))
    for file in files:
        room = file.relative_to(root / "src").parts[0]
        name = str(file.relative_to(root))
        text = file.read_text(errors="replace")
        code = strip(text)
        yield from check_includes(root, file, room, rooms)
        if not file.stem.endswith("_test"):
            yield from check_banned(name, room, code, BANNED)
        yield from check_length(name, text, code)
    for folder in ("tests", "bench", "tools", "examples", "python"):
        for file in sorted((root / folder).rglob("*.py")):
            if file.name != "layers.py":
                code = re.sub(r"#[^\n]*", "", file.read_text(errors="replace"))
                yield from check_banned(str(file.relative_to(root)), folder, code, BANNED_PYTHON)
    yield from check_dead(root, files)


CLEAN = {
    "src/base/CMakeLists.txt": "seedbed_room(base LIBRARIES fmt::fmt)\n",
    "src/base/text.h": "#pragma once\n// system(\"x\") in a comment; time(nullptr) too\n",
    "src/study/CMakeLists.txt": "seedbed_room(study ROOMS base)\n",
    "src/study/space.h": '#pragma once\n#include "base/text.h"\n',
    "src/study/space.cc": '#include "study/space.h"\nconst char* k = "popen(\\"x\\")";\n'
                          'int operating_system(int x) { return x; }\n',
    "src/engine/CMakeLists.txt": "seedbed_room(engine ROOMS base study)\n",
    "src/engine/engine.cc": '#include "study/space.h"\n#include <vector>\n',
    "src/env/CMakeLists.txt": "seedbed_room(env ROOMS base)\n",
    "src/env/posix/clock.cc": '#include "base/text.h"\nauto t = std::chrono::system_clock::now();\n',
}

LONG_BODY = "int f(int x) {\n" + "  x += 1;\n" * 75 + "  return x;\n}\n"

BROKEN = [
    ({"src/study/space.cc": '#include "engine/engine.h"\n', "src/engine/engine.h": "\n"},
     "study includes engine"),
    ({"src/study/CMakeLists.txt": "seedbed_room(study ROOMS base env)\n"}, "study links env"),
    ({"src/study/CMakeLists.txt": "seedbed_room(study ROOMS base engine)\n"}, "cycle engine"),
    ({"src/attic/CMakeLists.txt": "seedbed_room(attic ROOMS base)\n"}, "plan does not know"),
    ({"src/attic/old.cc": "\n"}, "nothing builds it"),
    ({"src/study/space.cc": '#include "study/gone.h"\n'}, "not there"),
    ({"src/study/space.cc": '#include "space.h"\n'}, "path from src/"),
    ({"src/study/space.cc": "#include <fstream>\n"}, "study is pure"),
    ({"src/base/a.cc": 'int x = system("ls");\n'}, "no shell"),
    ({"src/base/a.cc": 'int x = std::system("ls");\n'}, "no shell"),
    ({"src/base/a.cc": 'auto* f = ::popen("ls", "r");\n'}, "no shell"),
    ({"src/base/a.cc": "int x = rand() % 6;\n"}, "base/random.h"),
    ({"src/base/a.cc": "auto x = std::random_device{}();\n"}, "base/random.h"),
    ({"src/base/a.cc": "auto x = std::time(nullptr);\n"}, "ask the Clock"),
    ({"src/base/a.cc": "auto x = std::chrono::system_clock::now();\n"}, "ask the Clock"),
    ({"src/base/a.cc": "clock_gettime(CLOCK_REALTIME, &t);\n"}, "ask the Clock"),
    ({"src/study/a.cc": "auto x = std::chrono::steady_clock::now();\n"}, "time is an argument"),
    ({"src/base/a.cc": 'std::regex r("a");\n'}, "RE2"),
    ({"src/base/a.cc": "void f() { usleep(10); }\n"}, "wait for a condition"),
    ({"src/base/a.cc": "#define TODO\n"}, "file it"),
    ({"src/base/a.cc": LONG_BODY}, "a function of 78 lines"),
    ({"src/base/a.cc": "namespace a {\nclass B {\n void g() const {\n" + "  h();\n" * 75 + "}\n};\n}\n"},
     "a function of 77 lines"),
    ({"src/base/a.cc": "int x;\n" * 601}, "601 lines"),
    ({"src/base/unused.h": "#pragma once\n"}, "nobody but its own"),
    ({"src/base/unused.h": "#pragma once\n", "src/base/unused.cc": '#include "base/unused.h"\n'},
     "nobody but its own"),
    ({"src/base/deep/a.cc": "\n"}, "are compiled"),
    ({"tests/x.py": "print(eval('1'))\n"}, "no evaluation"),
    ({"tools/x.py": "subprocess.run('ls', shell=True)\n"}, "argument vector"),
]

GOOD = [
    {"src/base/a.cc": "// long: one table, row by row\n" + "int x;\n" * 700},
    {"src/base/a.cc": "// long: a state table\n" + LONG_BODY},
    {"src/base/a.cc": "int x = file.system(1);\nint y = my::time(0) + run_time(nullptr);\n"},
    {"src/base/a.cc": "int operand(int);\nint z = operand(1);\nconst char* s = R\"(rand())\";\n"},
]


def plant(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def self_test():
    failures = []
    for extra in [{}] + GOOD:
        with tempfile.TemporaryDirectory() as folder:
            plant(folder, {**CLEAN, **extra})
            findings = list(check(pathlib.Path(folder)))
            if findings:
                failures.append(f"a good tree {extra and list(extra)} gave {findings}")
    for files, expected in BROKEN:
        with tempfile.TemporaryDirectory() as folder:
            plant(folder, {**CLEAN, **files})
            findings = list(check(pathlib.Path(folder)))
            if not any(expected in finding for finding in findings):
                failures.append(f"not found: {expected} in {files}: {findings}")
    for failure in failures:
        print(failure)
    print(f"self-test: {len(BROKEN) + len(GOOD) + 1} trees, {len(failures)} wrong")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    findings = list(check(arguments.root.resolve()))
    for finding in findings:
        print(finding)
    print(f"layers: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
