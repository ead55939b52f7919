#!/usr/bin/env python3
"""Renames module symbols, methods and attributes by type: rename_symbols.py TABLE   (in the root of the checkout)

Lines: sow.mod:Symbol New | sow.mod:Class.member new.   '#' starts a comment. Needs mypy, run under Python 3.12+.
"""
import ast, re, subprocess, sys, time
from collections import defaultdict
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
from scopes import Builder
from mypy import build, options as O
from mypy.modulefinder import BuildSource
from mypy.nodes import Node, Expression, TypeInfo, MypyFile, Decorator, FuncDef, Var, OverloadedFuncDef
from mypy.types import Instance, UnionType, TypeType, CallableType, Overloaded, TypeVarType, TupleType, TypedDictType, LiteralType, NoneType, get_proper_type, AnyType

def listed():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "src", "tests", "bench", "tools"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [p for p in out if p.endswith(".py") and "/validators/" not in p and "/fixtures/" not in p and Path(p).exists() and not p.startswith(("tools/move", "tools/scopes", "tools/rename"))]

def module_name(p):
    parts = list(Path(p).with_suffix("").parts)
    if parts[0] in ("src", "tests"): parts = parts[1:]
    if parts[-1] == "__init__": parts.pop()
    return ".".join(parts)

def read_table(path):
    symbols, members = {}, {}
    for row in Path(path).read_text().splitlines():
        row = row.split("#")[0].split()
        if len(row) != 2: 
            if row: print("bad row:", row)
            continue
        where, new = row
        if not where.startswith(("sow.", "bench.", "tools.")): where = "sow." + where
        mod, _, name = where.partition(":")
        if not new.isidentifier(): print("bad name", row); continue
        if "." in name:
            cls, member = name.split(".", 1)
            members[(f"{mod}.{cls}", member)] = new
        else: symbols[(mod, name)] = new
    return symbols, members

SKIP = {"info", "node", "type", "names", "target", "original_def", "unanalyzed_type", "analyzed", "var", "definition", "callable", "method_type", "method_types", "inferred_type", "typeshed", "imports", "alias_deps", "plugin_deps", "path", "line", "column"}
ATTRS = {}
def attrs_of(node):
    k = type(node)
    if k not in ATTRS:
        ATTRS[k] = [a for a in dir(node) if not a.startswith("_") and a not in SKIP and not callable(getattr(k, a, None))]
    return ATTRS[k]
def expressions(file):
    """Every expression of a file, by walking the attributes of its nodes."""
    seen = set(); stack = list(file.defs)
    while stack:
        n = stack.pop()
        if isinstance(n, (list, tuple)): stack.extend(n); continue
        if not isinstance(n, Node) or id(n) in seen or isinstance(n, (TypeInfo, MypyFile, Var)): continue
        seen.add(id(n))
        if isinstance(n, Expression): yield n
        for a in attrs_of(n):
            try: v = getattr(n, a)
            except Exception: continue
            if isinstance(v, (Node, list, tuple)): stack.append(v)

def infos(t, depth=0):
    """The classes whose members an expression of this type has."""
    t = get_proper_type(t)
    if t is None or depth > 6: return
    if isinstance(t, Instance): yield t.type
    elif isinstance(t, UnionType):
        for i in t.items: yield from infos(i, depth + 1)
    elif isinstance(t, TypeType): yield from infos(t.item, depth + 1)
    elif isinstance(t, CallableType) and t.is_type_obj(): yield t.type_object()
    elif isinstance(t, Overloaded) and t.is_type_obj(): yield t.type_object()
    elif isinstance(t, TypeVarType): yield from infos(t.upper_bound, depth + 1)
    elif isinstance(t, TupleType): yield from infos(t.partial_fallback, depth + 1)
    elif isinstance(t, LiteralType): yield from infos(t.fallback, depth + 1)

def main():
    symbols, members = read_table(sys.argv[1])
    files = listed()
    opts = O.Options()
    opts.export_types = opts.preserve_asts = opts.check_untyped_defs = opts.ignore_missing_imports = True
    opts.incremental = False; opts.python_version = (3, 13); opts.namespace_packages = opts.explicit_package_bases = True
    opts.mypy_path = ["src", "tests"]
    sources = [BuildSource(p, module_name(p), None) for p in files]
    start = time.time()
    try: result = build.build(sources, opts)
    except Exception as e:
        print(type(e), str(e)[:3000]); raise
    print(f"mypy: {len(result.errors)} errors, {time.time() - start:.0f}s")
    def class_info(full):
        mod, _, cls = full.rpartition(".")
        f = result.files.get(mod)
        sym = f.names.get(cls) if f else None
        return sym.node if sym and isinstance(sym.node, TypeInfo) else None
    # extend to bases that define the member
    wanted = dict(members)
    for (cls, member), new in members.items():
        info = class_info(cls)
        if info is None: print(f"no such class: {cls}"); continue
        if not any(member in base.names for base in info.mro): print(f"no such member: {cls}.{member}"); continue
        if any(new in base.names for base in info.mro): print(f"member exists already: {cls}.{new}"); wanted.pop((cls, member), None); continue
        for base in info.mro:
            if base.fullname.startswith("sow.") and member in base.names: wanted.setdefault((base.fullname, member), new)
    def new_member(info, name):
        for base in info.mro:
            new = wanted.get((base.fullname, name))
            if new: return new
        return None
    for (mod, name), new in list(symbols.items()):
        f = result.files.get(mod)
        if f is None or name not in f.names: print(f"no such symbol: {mod}:{name}"); del symbols[(mod, name)]
        elif new in f.names: print(f"symbol exists already: {mod}:{new}"); del symbols[(mod, name)]
    member_names = {m for _, m in wanted}; symbol_names = {s for _, s in symbols}
    notes = []
    mods = {module_name(p) for p in files}
    total = 0
    for path in files:
        source = Path(path).read_text()
        if not any(n in source for n in member_names | symbol_names): continue
        b = Builder(source); own = module_name(path)
        types = {}
        for e in expressions(result.files[own]):
            t = result.types.get(e)
            if t is not None: types.setdefault((e.line, e.column, e.end_line, e.end_column), t)
        edits = {}
        use_scope = {}
        for s in b.root.walk():
            for u in s.uses: use_scope[u[1], u[2]] = s
        # imports
        scopes = [s for s in b.root.walk() if s.kind in ("module", "function", "class")]
        def scope_for(node):
            best = b.root
            for s in scopes:
                n = s.node
                if hasattr(n, "lineno") and n.lineno <= node.lineno <= n.end_lineno and (best is b.root or n.lineno >= best.node.lineno): best = s
            return best
        module_names = {}
        renamed_names = []   # (scope, old, new)
        for node in ast.walk(b.tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(("sow", "bench", "tools")):
                for a in node.names:
                    full = f"{node.module}.{a.name}"
                    if full in mods: module_names[id(scope_for(node)), a.asname or a.name] = full
                    new = symbols.get((node.module, a.name))
                    if new:
                        edits[a.lineno, a.col_offset] = (a.name, new)
                        if a.asname == a.name:
                            edits[a.lineno, a.col_offset + len(a.name) + 4] = (a.name, new)
                            renamed_names.append((scope_for(node), a.name, new))
                        if not a.asname: renamed_names.append((scope_for(node), a.name, new))
        for (mod, name), new in symbols.items():
            if mod == own: renamed_names.append((b.root, name, new))
        for scope, name, new in renamed_names:
            for s in scope.walk():
                for u in s.uses:
                    if u[0] == name and s.resolve(name) is scope:
                        edits[u[1], u[2]] = (name, new)
                        q = s
                        while q is not scope:
                            if new in q.bound: notes.append(f"{path}:{u[1]}: {new} is a local name here already")
                            q = q.parent
            if new in scope.bound: notes.append(f"{path}: {new} is bound already")
        # attributes
        owner_of = {}
        for node in ast.walk(b.tree):
            if isinstance(node, ast.ClassDef):
                for child in ast.walk(node): owner_of[id(child)] = node.name
        def attribute(value, name, at):
            """Renames .name of an expression."""
            if isinstance(value, ast.Name):
                s = use_scope.get((value.lineno, value.col_offset))
                r = s.resolve(value.id) if s else None
                full = module_names.get((id(r), value.id)) if r else None
                if full:
                    new = symbols.get((full, name))
                    return new
            if name not in member_names: return None
            if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "super" and id(value) in owner_of:
                info = class_info(f"{own}.{owner_of[id(value)]}")
                return new_member(info, name) if info else None
            t = types.get((value.lineno, value.col_offset, value.end_lineno, value.end_col_offset))
            if t is None:
                notes.append(f"{path}:{at}: no type for ….{name}") if name not in COMMON else None
                return None
            found = {n for i in infos(t) if (n := new_member(i, name))}
            if len(found) > 1: notes.append(f"{path}:{at}: {found} for .{name}")
            if not found and isinstance(get_proper_type(t), AnyType) and name not in COMMON: notes.append(f"{path}:{at}: Any.{name}")
            return found.pop() if len(found) == 1 else None
        for node in ast.walk(b.tree):
            if isinstance(node, ast.Attribute):
                new = attribute(node.value, node.attr, node.lineno)
                if new: edits[node.end_lineno, node.end_col_offset - len(node.attr.encode())] = (node.attr, new)
            elif isinstance(node, ast.Call):
                fn = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if fn in ("setattr", "getattr", "hasattr", "delattr", "object") and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str):
                    new = attribute(node.args[0], node.args[1].value, node.lineno)
                    if new: edits[node.args[1].lineno, node.args[1].col_offset + 1] = (node.args[1].value, new)
            elif isinstance(node, ast.MatchClass):
                for k, p in zip(node.kwd_attrs, node.kwd_patterns): 
                    if k in member_names: notes.append(f"{path}:{node.lineno}: match {k}=")
            elif isinstance(node, ast.ClassDef):
                info = class_info(f"{own}.{node.name}")
                if info is None: continue
                def at_name(stmt_line, col, name): return b.find(stmt_line, col, name)
                for stmt in node.body:
                    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)) and (new := new_member(info, stmt.name)):
                        edits[b.find(stmt.lineno, stmt.col_offset + 3, stmt.name)] = (stmt.name, new)
                    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target] if isinstance(stmt, ast.AnnAssign) else []
                    for t in targets:
                        if isinstance(t, ast.Name) and t.id == "__slots__":
                            for c in ast.walk(stmt.value):
                                if isinstance(c, ast.Constant) and isinstance(c.value, str) and (new := new_member(info, c.value)):
                                    edits[c.lineno, c.col_offset + 1] = (c.value, new)
                        elif isinstance(t, ast.Name) and (new := new_member(info, t.id)):
                            edits[t.lineno, t.col_offset] = (t.id, new)
                # names used in the class body that are members
                for s in b.root.walk():
                    if s.node is node:
                        for u in s.uses:
                            if (u[1], u[2]) not in edits and (new := new_member(info, u[0])) and u[0] in s.bound: edits[u[1], u[2]] = (u[0], new)
        if edits:
            lines = source.encode().split(b"\n")
            for (line, col), (old, new) in sorted(edits.items(), reverse=True):
                text = lines[line - 1]
                if text[col:col + len(old.encode())] != old.encode():
                    notes.append(f"{path}:{line}:{col}: expected {old} in {text!r}"); continue
                lines[line - 1] = text[:col] + new.encode() + text[col + len(old.encode()):]
                total += 1
            Path(path).write_text(b"\n".join(lines).decode())
    print("\n".join(notes[:int(sys.argv[2]) if len(sys.argv) > 2 else 200]))
    print(f"{len(symbols)} symbols, {len(members)} members, {total} places, {len(notes)} notes")
COMMON = {"join", "until", "make", "tell", "now", "sow", "plan", "look", "run", "find", "take", "read", "name", "text", "get", "add", "path", "state", "list", "write", "start", "keep", "save", "load", "copy", "log", "settings", "record", "step", "show", "begin", "end", "say", "give", "steps", "environment", "remove", "known", "found", "said", "place", "words"}
main()
