"""embed_page.py PAGE.html OUT.cc: the page with its parts as a text in the program, so that it needs no file.

A line "@include NAME@" stands for the file NAME beside the page.
"""
import os
import re
import sys


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n")[:-1]:
            part = re.fullmatch(r"@include ([\w.]+)@", line)
            yield from lines_of(os.path.join(os.path.dirname(path), part[1])) if part else [line]


with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write('#include "paddle/live_page.h"\n\nnamespace paddle {\n\nconst char* const page_html =\n')
    for text in lines_of(sys.argv[1]):
        out.write('    R"--page--(' + text + ')--page--" "\\n"\n')
    out.write("    ;\n\n}  // namespace paddle\n")
