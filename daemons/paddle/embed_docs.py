"""embed_docs.py SOURCE OUT.cc DEPFILE: the pages of the documentation as texts in the program, so that it needs no files."""
import glob
import os
import sys

source, out_path, depfile = sys.argv[1:]
pages = {"readme": "README.md", "contributing": "CONTRIBUTING.md", "schemas": "schemas/README.md"}
for path in sorted(glob.glob(os.path.join(source, "docs", "**", "*.md"), recursive=True)):
    name = os.path.relpath(path, os.path.join(source, "docs"))
    pages[name.removesuffix(".md").lower()] = os.path.join("docs", name)
with open(out_path, "w", encoding="utf-8") as out:
    out.write('#include "paddle/help_topics.h"\n\nnamespace paddle {\n\nstd::span<const HelpPage> help_pages() {\n')
    out.write("  static const HelpPage pages[] = {\n")
    for name, path in sorted(pages.items()):
        with open(os.path.join(source, path), encoding="utf-8") as page:
            out.write(f'      {{"{name}", "{path}",\n')
            for line in page.read().splitlines():
                out.write('       R"--page--(' + line + ')--page--" "\\n"\n')
            out.write("      },\n")
    out.write("  };\n  return pages;\n}\n\n}  // namespace paddle\n")
folders = {os.path.join(source, os.path.dirname(path)) for path in pages.values() if path.startswith("docs")}
with open(depfile, "w", encoding="utf-8") as deps:
    names = sorted(folders) + [os.path.join(source, path) for path in pages.values()]
    deps.write(f"{out_path}: " + " ".join(name.replace(" ", "\\ ") for name in names) + "\n")
