"""The part of scripts/lint that reads Python: which module imports which, sizes, docstrings, words."""
import ast
import os
import re

MAX_COLUMNS = 120
MAX_FUNCTION = 60  # lines without the docstring; aim at 40

# The parts of the package in python/paddle, from the bottom up, and what each may import besides itself when it is
# imported. A function may import what stands higher in the same package (layers are made of variables, and a variable
# has operators), never another package that is not listed.
PARTS = {
    "compat": set(),
    "batch": set(),
    "plain_pickle": set(),
    "unsupported": set(),
    "distributed": set(),  # starts processes; knows nothing of training
    "reader": {"_core"},
    "dataset": {"_core", "plain_pickle", "unsupported"},
    "fluid.values": {"_core"},
    "fluid.framework": {"_core", "fluid.values"},
    "fluid.layers": {"_core", "unsupported", "fluid.values", "fluid.framework"},
    "fluid.training": {"_core", "unsupported", "fluid.values", "fluid.framework", "fluid.layers"},
    "fluid.running": {"_core", "batch", "plain_pickle", "reader", "fluid.values", "fluid.framework"},
    "fluid.transpiler": {"_core", "fluid.values", "fluid.framework"},
    "fluid.incubate": {"_core", "fluid.values", "fluid.framework", "fluid.training", "fluid.running",
                       "fluid.transpiler"},
    "fluid": {"unsupported", "fluid.values", "fluid.framework", "fluid.layers", "fluid.training", "fluid.running",
              "fluid.transpiler"},
    "v2": {"_core", "batch", "reader", "dataset", "fluid", "fluid.values"},
    "": {"_core", "batch", "compat", "reader", "unsupported"},  # paddle itself; the rest is loaded when it is used
}
FLUID = {
    "values": {"arithmetic", "average", "clip", "core", "flags", "initializer", "lod_tensor", "log_helper", "metrics", "param_attr",
               "profiler", "regularizer", "unique_name", "variable"},
    "framework": {"framework", "layer_helper"},
    "layers": {"data", "input", "layers", "nets"},
    "training": {"backward", "evaluator", "optimizer"},
    "running": {"compiler", "data_feeder", "dataset", "dataset_run", "executor", "install_check", "io", "reader"},
    "transpiler": {"communicator", "transpiler"},
    "incubate": {"incubate"},
}
PART_OF_FLUID = {module: part for part, modules in FLUID.items() for module in modules}

BANNED = [
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "unfinished work belongs into docs/STATUS.md"),
    (re.compile(r"\t| $"), "no tabs, no blanks at the end of a line"),
]
# Words that make a stranger guess; the right column is what to write.
PLAIN = [
    (re.compile(r"\bgoodbye\b|\bfarewell\b", re.I), "leaves the job"),
    (re.compile(r"\bin good order\b", re.I), "cleanly"),
    (re.compile(r"\bin vain\b", re.I), "without success"),
    (re.compile(r"\bwish(es)?\b", re.I), "option, request"),
    (re.compile(r"\b(told|tells?|tell)\b", re.I), "report, describe, say"),
    (re.compile(r"\brooms?\b", re.I), "module, space, buffer"),
    (re.compile(r"\b([Nn]obody|somebody|everybody|whoever)\b"), "name who it is"),
    (re.compile(r"\beras?\b", re.I), "version"),
    (re.compile(r"\bdoors?\b", re.I), "call, function"),
    (re.compile(r"\bshall\b", re.I), "must, is to"),
    (re.compile(r"\bdeserted\b|\bimpatient\b|\blast words\b|\bspeaks?\b", re.I), "plain words (STYLE section 8)"),
]


def part_of(module):
    """The part that a module of the package belongs to: "paddle.fluid.io" -> "fluid.running"."""
    names = module.split(".")[1:]
    if not names:
        return ""
    if names[0] != "fluid" or len(names) == 1:
        return names[0]
    part = PART_OF_FLUID.get(names[1])
    return f"fluid.{part}" if part else None


def imports_of(tree, path):
    """(line, module of the package, whether it is imported together with this one) of every import."""
    names = path[len("python/"):-len(".py")].split("/")
    package = names[:-1]
    module_level = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            found = [".".join(base + [alias.name]) for alias in node.names]
        else:
            continue
        for name in found:
            if name.split(".")[0] == "paddle":
                yield node.lineno, name, id(node) in module_level


def known(root, name):
    """The module that "paddle.fluid.io.save" is, or is in."""
    parts = name.split(".")
    while len(parts) > 1 and parts[1:] != ["_core"]:
        at = os.path.join(root, "python", *parts)
        if os.path.isdir(at) or os.path.isfile(at + ".py"):
            break
        parts.pop()
    return ".".join(parts)


def check_layers(root, path, tree):
    module = path[len("python/"):-len(".py")].replace("/", ".").removesuffix(".__init__")
    part = part_of(module)
    if part not in PARTS:
        yield f"{path}: belongs to no part of the package: name it in scripts/lint_python.py"
        return
    for line, name, at_once in imports_of(tree, path):
        target = part_of(known(root, name))
        if target == part or target in PARTS[part]:
            continue
        same_package = target is not None and target.split(".")[0] == part.split(".")[0] and target != "fluid.incubate"
        if at_once or not same_package:
            yield f"{path}:{line}: {part or 'paddle'} may not import {name}"


def check_effects(path, tree):
    """Importing a module defines things. It changes no other module and registers nothing."""
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield f"{path}:{node.lineno}: a call while the module is imported; make it part of what needs it"
        for target in node.targets if isinstance(node, ast.Assign) else []:
            if isinstance(target, ast.Attribute):
                yield f"{path}:{node.lineno}: sets an attribute of another object while the module is imported"
        for decorator in getattr(node, "decorator_list", []):
            if isinstance(decorator, ast.Attribute) and decorator.attr == "register":
                yield f"{path}:{node.lineno}: registers a function while the module is imported"


def check_functions(path, tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            text = node.body[0] if ast.get_docstring(node) else None
            lines = node.end_lineno - node.lineno + 1 - (text.end_lineno - text.lineno + 1 if text else 0)
            if lines > MAX_FUNCTION:
                yield f"{path}:{node.lineno}: {node.name} has {lines} lines (limit {MAX_FUNCTION})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" \
                and path.startswith("python/paddle/") and not any(k.arg == "file" for k in node.keywords):
            yield f"{path}:{node.lineno}: stdout is the user's: print(..., file=...) or sys.stdout.write for results"


def check_words(path, text, columns=MAX_COLUMNS):
    """Lines of code and pages: short enough, and in plain words."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > columns:
            yield f"{path}:{number}: {len(line)} columns (limit {columns})"
        for pattern, instead in PLAIN:
            found = pattern.search(line)
            if found:
                yield f"{path}:{number}: '{found[0]}' makes a stranger guess; write: {instead}"


def check_python(root, path, text):
    """The package, its examples and its tests."""
    try:
        tree = ast.parse(text, path)
    except SyntaxError as e:
        yield f"{path}:{e.lineno}: {e.msg}"
        return
    if text and ast.get_docstring(tree) is None:
        yield f"{path}: lacks a docstring that says what it is for"
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, why in BANNED:
            if pattern.search(line):
                yield f"{path}:{number}: {why}"
    yield from check_words(path, text)
    yield from check_functions(path, tree)
    if path.startswith("python/paddle/"):
        yield from check_layers(root, path, tree)
        yield from check_effects(path, tree)
