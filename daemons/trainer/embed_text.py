"""embed_text.py NAME INPUT OUTPUT: the text of a file as a C++ constant."""
import sys

name, source, target = sys.argv[1:]
with open(source, encoding="utf-8") as f:
    text = f.read()
with open(target, "w", encoding="utf-8") as f:
    f.write(f'#pragma once\n\ninline constexpr char {name}[] = R"__text__({text})__text__";\n')
