"""Makes the site of `make docs`: a hook of MkDocs, which tools/mkdocs.yml names.

The navigation is that of docs/index.md: its headings are shelves, its links are pages. Files outside of docs/ that a
page links to become pages, too, so that every link of the site leads somewhere and is checked. The reference has the
public headers and the names that the package exports. Anchors are those that GitHub makes. Nothing comes from the
network.
"""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)((?:#[^)\s]*)?)\)")
FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
#: Names of the site's pages for files outside of docs/.
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "README.md": "readme.md"}
LANGUAGES = {
    ".py": "python",
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".cu": "cuda",
    ".toml": "toml",
    ".sh": "sh",
    ".json": "json",
}
PICTURES = (".png", ".svg")
#: Pattern of a C++ line that declares a class, a function, an alias or a constant.
DECLARED = re.compile(
    r"(?:class|struct|enum(?: class)?) (?:alignas\(\w+\) )?(\w+)|(\w+(?:::\w+)*)\(|using (\w+)|(\w+)(?: =|;|\{)"
)
HEADERS = ROOT / "include" / "slipstream"
PACKAGE = ROOT / "python" / "slipstream"


def slug(text: str, separator: str = "-") -> str:
    """The anchor of a heading, by GitHub's rules."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def page_of(path: str) -> str:
    """Place in the site of the page for a file or folder outside of docs/."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    header = re.fullmatch(r"include/slipstream/(\w+)\.hpp", path)
    if header:
        return f"reference/{header[1]}.md"
    if path.endswith(PICTURES):
        return f"files/{path}"
    return f"files/{path}.md"


def outside(text: str, place: Path) -> Iterator[tuple[re.Match[str], str]]:
    """The links of a page in the folder `place` that leave docs/, with the path from the root that each leads to."""
    for part in FENCE.split(text)[::2]:
        for match in LINK.finditer(part):
            target = Path(os.path.normpath(place / match[1]))
            if not target.is_relative_to(DOCS) and target.is_relative_to(ROOT):
                yield match, str(target.relative_to(ROOT))


def linked(text: str, place: Path, here: str) -> str:
    """Text of a page whose links lead to pages of the site. `here`: the page's own place there."""

    def replaced(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(place / match[1]))
        if target.is_relative_to(DOCS):
            to = str(target.relative_to(DOCS))
        elif target.is_relative_to(ROOT) and target.exists():
            to = page_of(str(target.relative_to(ROOT)))
        else:
            raise PluginError(f"{here}: no file {match[1]}")
        return f"]({os.path.relpath(to, Path(here).parent)}{match[2]})"

    parts = FENCE.split(text)
    return "".join(part if n % 2 else LINK.sub(replaced, part) for n, part in enumerate(parts))


def shown(path: str) -> str:
    """Text of a page that shows a source file or a folder."""
    source = ROOT / path
    if source.is_dir():
        names = [
            one.name + "/" * one.is_dir() for one in sorted(source.iterdir()) if not one.name.startswith(("_", "."))
        ]
        return f"# {path.rstrip('/')}\n\n" + "".join(f"- `{name}`\n" for name in names)
    text = source.read_text(encoding="utf-8")
    if len(text) > 200_000:
        text = text[:20_000] + "\n..."
    return f"# {path}\n\n````{LANGUAGES.get(source.suffix, 'text')}\n{text}````\n"


def declarations(text: str) -> Iterator[tuple[str, str]]:
    """The classes and functions of a header that have a comment before them or inside: a name, and the text."""
    chunk, depth = list[str](), 0
    for line in text.splitlines():
        bare = line.partition("//")[0]
        begins = not depth and re.match(r"(inline )?namespace\b.*\{$|\}|#|using namespace", line)
        if begins or not chunk and not line.strip():
            chunk = []
            continue
        chunk.append(line)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        if depth == 0 and bare.rstrip().endswith((";", "}")):
            code = "\n".join(one for one in chunk if not one.startswith(("//", "template", "requires")))
            if "///" in "".join(chunk) and (name := DECLARED.search(code)):
                yield next(filter(None, name.groups())), "\n".join(chunk)
            chunk = []


def header_page(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    first = re.match(r"#pragma once\n((?:// ?.*\n)+)", text)
    about = re.sub(r"(?m)^// ?", "", first[1]) if first else ""
    parts = [f"# slipstream/{path.name}\n", f"````text\n{about}````\n" if about else ""]
    for name, code in list(declarations(text)) or [("All of it", text.rstrip("\n"))]:
        parts.append(f"## {name}\n\n````cpp\n{code}\n````\n")
    return "\n".join(parts)


def exported(package: str) -> dict[str, str]:
    """Names that a package exports for type checkers or users, each with its module."""
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {
        name.name: node.module or ""
        for node in imports
        for name in node.names
        if (node.module or "").startswith("slipstream.") and not name.name.startswith("_")
    }


def stub(node: ast.stmt) -> ast.stmt | None:
    """Syntax tree of a class or function without its code and its private parts."""
    if isinstance(node, ast.FunctionDef):
        if node.name.startswith("_") and node.name != "__init__":
            return None
        text = ast.get_docstring(node)
        node.body = [ast.Expr(ast.Constant(text))] if text else [ast.Expr(ast.Constant(...))]
    elif isinstance(node, ast.ClassDef):
        node.body = [one for part in node.body if (one := stub(part))] or [ast.Expr(ast.Constant(...))]
    elif isinstance(node, ast.Assign):
        return None
    return node


def python_page(package: str) -> str:
    title = ".".join(filter(None, ("slipstream", package)))
    text = (PACKAGE / package / "__init__.py").read_text(encoding="utf-8")
    parts = [f"# {title}\n", f"````text\n{ast.get_docstring(ast.parse(text))}\n````\n"]
    for name, module in sorted(exported(package).items()):
        source = (ROOT / "python" / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
        found = next((n for n in ast.parse(source).body if getattr(n, "name", "") == name), None)
        if found is not None and (made := stub(found)):
            code = ast.unparse(ast.fix_missing_locations(made))
        else:
            code = next(line for line in source.splitlines() if line.startswith(f"{name} ="))
        parts.append(f"## {name}\n\n````python\n{code}\n````\n")
    return "\n".join(parts)


def compiled_page() -> str:
    """The stub of the compiled module, which the build writes."""
    path = PACKAGE / "_core.pyi"
    text = (
        path.read_text(encoding="utf-8") if path.is_file() else "Built by `make build`; the site was made without it.\n"
    )
    return f"# slipstream._core\n\nThe compiled module, as type checkers see it.\n\n````python\n{text}````\n"


def reference() -> dict[str, str]:
    pages = {f"reference/{path.stem}.md": header_page(path) for path in sorted(HEADERS.glob("*.hpp"))}
    for package in ("", "lbm", "dns", "sem", "fft"):
        pages[f"reference/python_{package or 'slipstream'}.md"] = python_page(package)
    return pages | {"reference/python_core.md": compiled_page()}


def on_config(config: Any) -> Any:
    config.mdx_configs["toc"] = {"slugify": slug}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds pages to the site: the reference, and all files outside of docs/ that pages link to."""
    texts = {file.src_uri: (DOCS / file.src_uri).read_text(encoding="utf-8") for file in files.documentation_pages()}
    pages = reference()
    wanted = dict.fromkeys(OUTSIDE)
    for page, text in texts.items():
        wanted.update(dict.fromkeys(path for _, path in outside(text, (DOCS / page).parent)))
    for path in OUTSIDE:
        wanted.update(dict.fromkeys(p for _, p in outside((ROOT / path).read_text(encoding="utf-8"), ROOT)))
    for path in wanted:
        place = page_of(path)
        if place in pages:
            continue
        if path in OUTSIDE:
            pages[place] = linked((ROOT / path).read_text(encoding="utf-8"), ROOT, place)
        elif path.endswith(PICTURES):
            files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
        elif (ROOT / path).exists():
            pages[place] = shown(path)
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    config.nav = navigation(texts["index.md"], sorted(pages))
    return files


def navigation(index: str, pages: list[str]) -> list[Any]:
    """Navigation of the site: shelves and pages of the index, then the reference."""
    nav: list[Any] = [{"Start": "index.md"}, {"README": OUTSIDE["README.md"]}]
    for shelf in re.split(r"(?m)^## ", index)[1:]:
        title, _, text = shelf.partition("\n")
        found = [
            (name, target.removeprefix("../")) for name, target in re.findall(r"\[([^]]+)\]\(([^)#]+\.md)\)", text)
        ]
        nav.append({title: [{name[0].upper() + name[1:]: OUTSIDE.get(target, target)} for name, target in found]})
    named = {"C++": "reference/(?!python_).*", "Python": "reference/python_.*"}
    nav.append({"Reference": [{name: [p for p in pages if re.match(form, p)]} for name, form in named.items()]})
    return nav


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turns links to files outside of docs/ into links to their pages. Links of generated pages are right already."""
    if page.file.generated_by:
        return markdown
    return linked(markdown, (DOCS / page.file.src_uri).parent, page.file.src_uri)
