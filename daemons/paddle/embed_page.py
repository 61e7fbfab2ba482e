"""embed_page.py PAGE.html OUT.cc: the page as a text in the program, so that it needs no file."""
import sys

with open(sys.argv[1], encoding="utf-8") as page, open(sys.argv[2], "w", encoding="utf-8") as out:
    text = page.read()
    out.write('#include "paddle/live_page.h"\n\nnamespace paddle {\n\nconst char* const page_html =\n')
    for line in text.split("\n")[:-1]:
        out.write('    R"--page--(' + line + ')--page--" "\\n"\n')
    out.write("    ;\n\n}  // namespace paddle\n")
