"""Prints the table of libcore/io/foreign_attrs.cc: run with PaddlePaddle 1.8.5, give the op types as arguments' file.

    PYTHONPATH=build/python python3 python/tests/interop/attributes.py ours > types.json
    real185/bin/python python/tests/interop/attributes.py table types.json
"""
import json
import re
import sys

import paddle.fluid as fluid

OWN = ("op_role", "op_role_var", "op_namescope", "op_callstack", "op_device")  # of every op
REMOTE = ("fused_embedding_seq_pool", "listen_and_serv", "recv", "send")  # are not saved
ZERO = {0: 0, 1: 0.0, 2: "max", 3: [], 4: [], 5: [], 6: False, 7: [], 9: 0, 11: []}


def ours():
    """{op type: names of its attributes}."""
    from paddle import _core
    print(json.dumps({type: _core.op_attributes(type) for type in _core.op_types()}))


def defaults(type, proto):
    """The attributes of an op that have defaults, by what PaddlePaddle fills in itself."""
    desc = fluid.Program().global_block().desc.append_op()
    desc.set_type(type)
    required = set()
    while True:
        try:
            desc.check_attrs()
            break
        except Exception as e:
            names = [n for n in re.findall(r"\w+", str(e)) if n in {a.name for a in proto.attrs} - required]
            if not names:
                raise
            name = names[0]
            required.add(name)
            desc._set_attr(name, ZERO[[a.type for a in proto.attrs if a.name == name][0]])
    return {a.name: (a.type, desc.attr(a.name)) for a in proto.attrs
            if a.name not in required and desc.has_attr(a.name)}


def written(kind, value):
    """A value as C++ writes it."""
    if kind == 6:
        return "true" if value else "false"
    if kind == 1:
        return "%sf" % repr(float("%.7g" % value))
    if kind == 2:
        return 'std::string("%s")' % value
    if kind == 9:
        return "int64_t{%d}" % value
    if kind in (3, 4, 5, 11):
        name = {3: "Ints", 4: "Floats", 5: "Strings", 11: "Longs"}[kind]
        return "%s{%s}" % (name, ", ".join(written({3: 0, 4: 1, 5: 2, 11: 0}[kind], v) for v in value))
    return str(value)


def table(path):
    from paddle.fluid.framework import OpProtoHolder
    with open(path) as f:
        known = json.load(f)
    rows = {}
    for type, proto in sorted(OpProtoHolder.instance().op_proto_map.items()):
        if type not in known or type in REMOTE:
            continue
        found = defaults(type, proto)
        attrs = tuple('{"%s", %s}' % (n, written(*found[n])) for n in sorted(found)
                      if n not in OWN and n not in known[type] and not n.startswith("@"))
        if attrs:
            rows.setdefault(attrs, []).append(type)
    for attrs, types in sorted(rows.items(), key=lambda row: row[1]):
        print('      {"%s", {%s}},' % (" ".join(types), ", ".join(attrs)))


if __name__ == "__main__":
    ours() if sys.argv[1] == "ours" else table(sys.argv[2])
