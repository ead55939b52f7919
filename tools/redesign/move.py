#!/usr/bin/env python3
"""Moves, merges and renames modules and module-level symbols, and changes every import and reference.

python tools/move.py moves.txt [--only PREFIX,...]   in the root of the checkout; needs Python 3.12+ (positions in f-strings)

Lines of the table (names below `sow.`):
  old new              rename or move a module
  old + new            merge a module into another one (named as after all moves)
  mod:Symbol New       rename a function, class or constant of a module (mod named as after all moves and merges)
"""
import ast, re, subprocess, sys
from collections import defaultdict
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
from scopes import Builder, replace

SRC = Path("src/sow")
TREES = ["src", "tests", "bench", "tools"]

def name_of(path):
    parts = list(Path(path).with_suffix("").parts[1:])
    if parts[-1] == "__init__": parts.pop()
    return ".".join(parts)

def python_files():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *TREES], capture_output=True, text=True, check=True).stdout.split("\n")
    return [p for p in out if p.endswith(".py") and "/validators/" not in p and "/fixtures/" not in p and Path(p).exists()]

def modules():
    return {name_of(p): p for p in python_files() if p.startswith("src/sow/")}

class Rewriter:
    """Rewrites one file for a map of modules and a map of symbols."""
    def __init__(self, path, modmap, symmap, mods):
        self.path, self.modmap, self.symmap, self.mods = path, modmap, symmap, mods
        self.source = Path(path).read_text()
        self.notes = []
    def new_symbol(self, module, name):
        return self.symmap.get((module, name), name)
    def run(self):
        source = self.source
        if "sow" not in source: return source
        b = Builder(source)
        own = name_of(self.path) if self.path.startswith("src/") else None
        own_new = self.modmap.get(own, own)
        edits = {}           # (line, col) -> (old, new)
        spans = []           # (start_line, end_line, text)
        # scopes: find import statements with their scope
        scope_of = {}
        def assign(scope, node):
            for child in ast.iter_child_nodes(node):
                pass
        # map import nodes to scopes by position: innermost function/class scope containing the node
        scopes = [s for s in b.root.walk() if s.kind in ("module", "function", "class")]
        def scope_for(node):
            best = b.root
            for s in scopes:
                n = s.node
                if hasattr(n, "lineno") and n.lineno <= node.lineno <= n.end_lineno and (best is b.root or n.lineno >= best.node.lineno):
                    best = s
            return best
        bindings = []  # (scope, local name, new local name or None(drop: same-module), kind, module)
        removed_modules = set()
        for node in ast.walk(b.tree):
            if isinstance(node, ast.Import):
                for a in node.names:
                    if a.name in self.modmap: self.notes.append(f"{self.path}:{node.lineno}: import {a.name}")
                continue
            if not isinstance(node, ast.ImportFrom) or not node.module or not node.module.split(".")[0] == "sow" or node.level: continue
            scope = scope_for(node)
            lines = defaultdict(list)
            changed = False
            for a in node.names:
                full = f"{node.module}.{a.name}"
                if full in self.mods:                      # a module
                    new = self.modmap.get(full, full)
                    package, _, last = new.rpartition(".")
                    if new == own_new:                       # merged into this very file
                        bindings.append((scope, a.asname or a.name, None, "module", full)); changed = True; continue
                    local = a.asname or a.name
                    if a.asname and a.asname != a.name:
                        newlocal = a.asname
                        lines[package].append(f"{last} as {a.asname}" if last != a.asname else last)
                    else:
                        newlocal = last
                        lines[package].append((last, full))
                    bindings.append((scope, local, newlocal, "module", full))
                    if new != full: changed = True
                elif node.module in self.mods:             # a symbol
                    new = self.modmap.get(node.module, node.module)
                    sym = self.new_symbol(new, a.name)
                    if new == own_new and own != node.module or (new == own_new and own == node.module):
                        bindings.append((scope, a.asname or a.name, sym if (a.asname or a.name) != sym else None, "inline", full)); changed = True
                        if a.asname and a.asname != sym: self.notes.append(f"{self.path}:{node.lineno}: alias {a.asname} of an inlined name")
                        continue
                    if a.asname:
                        lines[new].append(f"{sym} as {a.asname}")
                    else:
                        lines[new].append(sym)
                        if sym != a.name: bindings.append((scope, a.name, sym, "symbol", full))
                    if new != node.module or sym != a.name: changed = True
                else:
                    lines[node.module].append(f"{a.name} as {a.asname}" if a.asname else a.name)
            if changed:
                spans.append((node, lines))
        # local names of modules: avoid collisions
        plan = {}   # (id(scope), local) -> new local
        alias_for = {}
        for scope, local, new, kind, full in bindings:
            if kind == "module" and new is not None and new != local:
                # does `new` collide?
                clash = False
                uses = [(s, u) for s in scope.walk() for u in s.uses if u[0] == local and s.resolve(local) is scope]
                others = [x for x in bindings if x[0] is scope and x[4] != full and x[2] == new and self.modmap.get(x[4], x[4]) != self.modmap.get(full, full)]
                if others: clash = True
                if new in scope.bound and not any(x[0] is scope and x[1] == new for x in bindings): clash = True
                for s, u in uses:
                    q = s
                    while q is not None:
                        if q is not scope and new in q.bound: clash = True
                        if q is scope: break
                        q = q.parent
                if not clash and scope is not b.root and any(u[0] == new and (r := s.resolve(new)) is not None and r is not scope for s in scope.walk() for u in s.uses): clash = True
                if clash:
                    module = self.modmap.get(full, full).split(".")
                    alias_for[(id(scope), full)] = new = f"{module[-2]}_{module[-1]}" if len(module) > 2 else new + "_module"
                    self.notes.append(f"{self.path}: {full} imported as {new}")
                plan[(id(scope), local)] = (scope, local, new, full)
        for node, lines in spans:
            indent = " " * node.col_offset
            scope = scope_for(node)
            text = []
            for package in lines:
                names = []
                for item in lines[package]:
                    if isinstance(item, tuple):
                        last, full = item
                        alias = alias_for.get((id(scope), full))
                        item = f"{last} as {alias}" if alias else last
                    if item not in names: names.append(item)
                text.append(f"{indent}from {package} import {', '.join(sorted(names))}")
            # keep a trailing comment
            last_line = source.split("\n")[node.end_lineno - 1]
            comment = re.search(r"  #.*$", last_line)
            if comment and text: text[-1] += comment.group()
            edits[("span", node.lineno, node.end_lineno)] = text
        # usages
        point = {}
        for scope, local, new, full in plan.values():
            for s in scope.walk():
                for u in s.uses:
                    if u[0] == local and s.resolve(local) is scope: point[u[1], u[2]] = (local, new)
        for scope, local, new, kind, full in bindings:
            if kind in ("symbol", "inline") and new is not None and new != local:
                for s in scope.walk():
                    for u in s.uses:
                        if u[0] == local and s.resolve(local) is scope: point[u[1], u[2]] = (local, new)
        # symbols renamed in their own module
        if own_new:
            for (module, sym), new in self.symmap.items():
                if module == own_new and sym in b.root.bound:
                    for s in b.root.walk():
                        for u in s.uses:
                            if u[0] == sym and s.resolve(sym) is b.root: point[u[1], u[2]] = (sym, new)
        # attribute access module.symbol
        names_to_module = {}
        for scope, local, new, kind, full in bindings:
            if kind == "module": names_to_module[(id(scope), local)] = full
        use_scope = {}
        for s in b.root.walk():
            for u in s.uses: use_scope[u[1], u[2]] = s
        drop = []
        for node in ast.walk(b.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                at = (node.value.lineno, node.value.col_offset)
                s = use_scope.get(at)
                r = s.resolve(node.value.id) if s else None
                full = names_to_module.get((id(r), node.value.id)) if r else None
                if not full: continue
                new = self.modmap.get(full, full)
                sym = self.new_symbol(new, node.attr)
                end = (node.end_lineno, node.end_col_offset - len(node.attr.encode()))
                if new == own_new:
                    drop.append((at, end, node.value.id, sym, node.attr))
                elif sym != node.attr:
                    point[end] = (node.attr, sym)
        lines_b = source.encode().split(b"\n")
        # combine: points and drops are applied by column, spans by line
        ops = [(k[0], k[1], k[1] + len(v[0].encode()), v[0], v[1]) for k, v in point.items()]
        for at, end, ident, sym, attr in drop:
            ops = [o for o in ops if (o[0], o[1]) not in (at, end)]
            assert at[0] == end[0], (self.path, at)
            ops.append((at[0], at[1], end[1] + len(attr.encode()), None, sym))
        for line, start, stop, old, new in sorted(ops, key=lambda o: (o[0], o[1]), reverse=True):
            text = lines_b[line - 1]
            if old is not None: assert text[start:stop] == old.encode(), (self.path, line, old, text)
            lines_b[line - 1] = text[:start] + new.encode() + text[stop:]
        out = [l.decode() for l in lines_b]
        for key in sorted((k for k in edits), reverse=True):
            _, first, last = key
            text = edits[key]
            if not text:
                # an import block that became empty
                indent = re.match(r" *", out[first - 1]).group()
                text = [f"{indent}pass  # EMPTY-IMPORT"]
            out[first - 1:last] = text
        result = "\n".join(out)
        result = re.sub(r"^ *pass  # EMPTY-IMPORT\n", "", result, flags=re.M)
        return result

TEXT_FILES = (".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".sh", "Makefile", "run")

def text_pass(modmap, symmap):
    """Dotted names and paths in strings, comments and documents."""
    dotted = {old: new for old, new in modmap.items() if old != new}
    paths = {f"{o[4:].replace('.', '/')}.py": f"{n[4:].replace('.', '/')}.py" for o, n in dotted.items()}
    if not dotted: return
    rx = re.compile(r"(?<![\w.])(" + "|".join(re.escape(k) for k in sorted(dotted, key=len, reverse=True)) + r")(?![\w])")
    rp = re.compile(r"(?<![\w/])((?:src/)?(?:sow/)?)(" + "|".join(re.escape(k) for k in sorted(paths, key=len, reverse=True)) + r")(?![\w])")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    for path in listed:
        if not path.endswith(TEXT_FILES) or not Path(path).is_file() or path.startswith(("tools/move", "tools/scopes", "tests/fixtures", "CHANGELOG")): continue
        text = Path(path).read_text(errors="surrogateescape")
        new = text
        if path.endswith(".py"):
            # only inside strings and comments: names in code are done already
            new = rp.sub(lambda m: m.group(1) + paths[m.group(2)], new)
            def fix(m): return dotted[m.group(1)]
            lines = new.split("\n")
            real = {n for node in ast.walk(ast.parse(new)) if isinstance(node, (ast.Import, ast.ImportFrom)) for n in range(node.lineno, node.end_lineno + 1)}
            both = re.compile(r"from (sow(?:\.\w+)*) import ([\w ]+(?:, [\w ]+)*)|" + rx.pattern)
            def whole(m):
                if m.group(1) is None: return dotted[m.group(3)]
                package, names = m.group(1), [x.strip() for x in m.group(2).split(",")]
                parts = defaultdict(list)
                for name in names:
                    first, _, alias = name.partition(" as ")
                    full = dotted.get(f"{package}.{first}")
                    if full is None: parts[dotted.get(package, package)].append(name)
                    else:
                        pkg, _, last = full.rpartition(".")
                        local = alias or first
                        parts[pkg].append(last + (f" as {local}" if local != last else ""))
                return "; ".join(f"from {pkg} import {', '.join(n)}" for pkg, n in parts.items())
            for i, line in enumerate(lines):
                if i + 1 not in real: lines[i] = both.sub(whole, line)
            new = "\n".join(lines)
        else:
            new = rp.sub(lambda m: m.group(1) + paths[m.group(2)], rx.sub(lambda m: dotted[m.group(1)], new))
        if new != text: Path(path).write_text(new, errors="surrogateescape")

def split(source):
    """Docstring, imports, lines of the TYPE_CHECKING block, rest."""
    tree = ast.parse(source); lines = source.split("\n")
    used = set(); imports = []; checking = []; marker = None
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    def span(n):
        first = n.lineno
        return range(first - 1, n.end_lineno)
    for n in body:
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            if not (isinstance(n, ast.ImportFrom) and n.module == "__future__" ):
                if isinstance(n, ast.ImportFrom) and n.module == "typing" and [a.name for a in n.names] == ["TYPE_CHECKING"]: marker = "typing"
                else: imports += [lines[i] for i in span(n)]
            used.update(span(n))
        elif isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "TYPE_CHECKING":
            marker = marker or "own"; used.update(span(n))
        elif isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING":
            checking += [lines[i] for k in n.body for i in span(k)]
            used.update(span(n))
    doc_end = tree.body[0].end_lineno if ast.get_docstring(tree) is not None else 0
    doc = lines[:doc_end]
    rest = "\n".join(l for i, l in enumerate(lines) if i >= doc_end and i not in used).strip("\n")
    return doc, imports, checking, marker, rest

def defined(source):
    out = set()
    for n in ast.parse(source).body:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)): out.add(n.name)
        elif isinstance(n, ast.Assign): out |= {t.id for t in n.targets if isinstance(t, ast.Name)}
        elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name): out.add(n.target.id)
    return out - {"TYPE_CHECKING"}

def main():
    table = Path(sys.argv[1])
    only = None
    if "--only" in sys.argv: only = tuple("sow." + p for p in sys.argv[sys.argv.index("--only") + 1].split(","))
    moves, merges, symmap = {}, {}, {}
    for row in table.read_text().splitlines():
        row = row.split("#")[0].split()
        if not row: continue
        if ":" in row[0]:
            mod, sym = row[0].split(":"); 
            if "." in sym: continue
            symmap[("sow." + mod, sym)] = row[1]
        elif row[1] == "+": merges["sow." + row[0]] = "sow." + row[2]
        else: moves["sow." + row[0]] = "sow." + row[1]
    if only:
        moves = {k: v for k, v in moves.items() if k.startswith(only)}
        merges = {k: v for k, v in merges.items() if k.startswith(only)}
    mods = modules()
    moves = {k: v for k, v in moves.items() if k in mods}
    merges = {k: v for k, v in merges.items() if k in mods}
    modmap = {**moves, **merges}
    for k in list(modmap):
        if k == modmap[k]: del modmap[k]
    for (m, s), n in list(symmap.items()):
        pass
    new_text = {}; notes = []
    for path in python_files():
        if path.startswith(("tools/move", "tools/scopes")): continue
        r = Rewriter(path, modmap, symmap, mods)
        try: new_text[path] = r.run()
        except Exception as e: raise SystemExit(f"{path}: {type(e).__name__} {e}") from e
        notes += r.notes
    for path, text in new_text.items():
        if text != Path(path).read_text(): Path(path).write_text(text)
    # move files through temporary names: a new package may have the name of an old module
    temp = {}
    for old in modmap:
        t = f"src/sow/__moving_{len(temp)}.py"
        Path(mods[old]).rename(t); temp[old] = t
    def target(new): return Path("src") / (new.replace(".", "/") + ".py")
    for old, new in moves.items():
        if old not in temp: continue
        p = target(new)
        p.parent.mkdir(parents=True, exist_ok=True)
        q = p.parent
        while q != SRC and not (q / "__init__.py").exists():
            (q / "__init__.py").write_text(f'"""{q.relative_to(SRC)}"""\n'); q = q.parent
        if p.exists(): raise SystemExit(f"{p} exists")
        Path(temp[old]).rename(p)
    clashes = 0
    for old, new in merges.items():
        p = target(new); a = p.read_text(); b = Path(temp[old]).read_text()
        same = defined(a) & defined(b)
        if same:
            clashes += 1; notes.append(f"CLASH {old} + {new}: {sorted(same)}")
        da, ia, ca, ma, ra = split(a); db, ib, cb, mb, rb = split(b)
        marker = ma or mb
        text = "\n".join(da) + "\n\nfrom __future__ import annotations\n\n"
        imports = ia + ib
        if "typing" in (ma, mb): imports = ["from typing import TYPE_CHECKING", *imports]
        text += "\n".join(imports) + "\n\n"
        if ca or cb:
            if "typing" not in (ma, mb): text += "TYPE_CHECKING = False\n"
            text += "if TYPE_CHECKING:\n" + "\n".join(ca + cb) + "\n\n"
        text += ra + "\n\n\n" + rb + "\n"
        p.write_text(text); Path(temp[old]).unlink()
    text_pass(modmap, symmap)
    print("\n".join(notes))
    print(f"{len(moves)} modules moved, {len(merges)} merged, {len(symmap)} symbols renamed, {clashes} clashes")
main()
