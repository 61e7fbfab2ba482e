"""The part of scripts/lint that counts the data members and methods of the daemons' classes.

It relies on clang-format, which lint checks as well: a declaration starts two columns inside its class, and whatever
belongs to it is indented further."""
import re

MAX_MEMBERS, MAX_METHODS = 15, 25

HEAD = re.compile(r"^( *)(?:class|struct) (\w+)\b(?!.*;$)")
NO_MEMBER = re.compile(r"(using|friend|typedef|static_assert|enum|class|struct|union|template)\b|static (inline )?const|[})/#]")


def without_brackets(text):
    """What is left of a declaration without (...), {...} and <...>; "(" stays where a list of arguments was."""
    for pattern, instead in ((r"\([^()]*\)", "\1"), (r"\{[^{}]*\}", ""), (r"<[^<>]*>", "")):
        before = None
        while before != text:
            before, text = text, re.sub(pattern, instead, text)
    return text.replace("\1", "(")


def kind(declaration):
    """(data members, methods) that a declaration adds to its class."""
    if re.search(r"= (default|delete);", declaration):
        return 0, 0
    if declaration.startswith("template") and "(" in declaration or "operator" in declaration:
        return 0, 1
    if re.match(r"\} \w+", declaration):  # the end of a struct without a name
        return 1, 0
    if NO_MEMBER.match(declaration):
        return 0, 0
    plain = without_brackets(re.sub(r"//.*", "", declaration))
    if "(" in plain.split("=")[0]:
        return 0, 1
    return 1 + plain.count(","), 0


def count(text):
    """(name, data members, methods) of each class of a file."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        head = HEAD.match(line)
        if not head:
            continue
        inside = head[1] + "  "
        declarations = []
        for later in lines[at + 1:]:
            if later.startswith(head[1] + "}"):
                break
            if later.startswith(inside) and later[len(inside):len(inside) + 1] not in (" ", ""):
                declarations.append(later.strip())
            elif declarations and later.startswith(inside) and not declarations[-1].startswith("//"):
                declarations[-1] += "\n" + later.strip()
        sums = [kind(d) for d in declarations]
        yield head[2], sum(s[0] for s in sums), sum(s[1] for s in sums)


def check_classes(files):
    """Findings of the daemons' files, a list of (path, text)."""
    for path, text in files:
        for name, members, methods in count(text):
            if members > MAX_MEMBERS or methods > MAX_METHODS:
                yield (f"{path}: {name} has {members} data members and {methods} methods; "
                       f"the limits are {MAX_MEMBERS} and {MAX_METHODS}: cut it by idea")
