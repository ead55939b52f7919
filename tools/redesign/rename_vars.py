#!/usr/bin/env python3
"""Renames local variables and parameters called desk, ship, deck, crew, seat by the type they hold (src only)."""
import ast, sys, re, subprocess
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
import importlib.util
spec = importlib.util.spec_from_file_location("rs", Path(__file__).parent / "rename_symbols.py")
text = Path(spec.origin).read_text().rsplit("\nmain()", 1)[0]
ns = {"__file__": spec.origin}; exec(compile(text, spec.origin, "exec"), ns)
from scopes import Builder, replace
build, O, BuildSource = ns["build"], ns["O"], ns["BuildSource"]
CHOICES = {
    "TaskFolder": ["folder", "task_folder"], "AgentFolder": ["folder", "agent_folder"], "DesignFolder": ["folder", "design_folder"],
    "RunContext": ["context", "run_context"], "CrewContext": ["crew", "crew_context"], "TurnSettings": ["settings", "turn_settings"],
    "AgentTurn": ["turn", "agent_turn"], "TaskTurn": ["turn", "task_turn"], "MemberTurn": ["turn", "member_turn"],
}
FALL = {"desk": ["folder", "task_folder"], "desks": ["folders", "task_folders"], "ship": ["context", "run_context"], "deck": ["crew", "crew_context"], "crew": [], "seat": ["turn", "agent_turn"], "seats": ["turns", "agent_turns"]}
files = [p for p in ns["listed"]() if p.startswith("src/")]
opts = O.Options(); opts.export_types = opts.preserve_asts = opts.check_untyped_defs = opts.ignore_missing_imports = True
opts.incremental = False; opts.python_version = (3, 13); opts.namespace_packages = opts.explicit_package_bases = True; opts.mypy_path = ["src"]
result = build.build([BuildSource(p, ns["module_name"](p), None) for p in files], opts)
print(len(result.errors), "errors")
done = 0; keywords = {}
for path in files:
    source = Path(path).read_text()
    if not re.search(r"\b(desks?|ship|deck|crew|seats?)\b", source): continue
    b = Builder(source); own = ns["module_name"](path)
    types = {}
    for e in ns["expressions"](result.files[own]):
        t = result.types.get(e)
        if t is not None: types.setdefault((e.line, e.column), t)
    edits = {}
    taken = {}
    for t in b.root.walk():
        if t.kind not in ("function", "comp"): continue
        for name in list(t.bound):
            if name not in FALL: continue
            refs = [(s, u) for s in t.walk() for u in s.uses if u[0] == name and s.resolve(name) is t]
            if not any(u[3] != 'load' for _, u in refs): continue
            classes = set()
            for s, u in refs:
                ty = types.get((u[1], u[2]))
                if ty is not None: classes |= {i.name for i in ns["infos"](ty)}
            classes &= set(CHOICES)
            choices = CHOICES[classes.pop()] if len(classes) == 1 else (FALL[name])
            if name == "crew" and not choices: continue
            if name == "crew" and choices[0] == "crew": continue
            for new in choices:
                clash = new in t.bound or new in taken.get(id(t), ())
                for s in t.walk():
                    if s is not t and new in s.bound and any(x is s or _ for x, _ in [(s, False)]):
                        # hidden in a nested scope that uses the name
                        for s2, u in refs:
                            q = s2
                            while q is not t:
                                if q is s: clash = True
                                q = q.parent
                    for u in s.uses:
                        if u[0] == new:
                            r = s.resolve(new); q = r; inside = False
                            while q is not None:
                                if q is t: inside = True
                                q = q.parent
                            if not inside: clash = True
                # an enclosing rename to the same name used inside t
                q = t.parent
                while q is not None:
                    if new in taken.get(id(q), ()) and any(edits.get((u[1], u[2]), ("", ""))[1] == new for s in t.walk() for u in s.uses): clash = True
                    q = q.parent
                if not clash: break
            else:
                print("clash", path, t.node.lineno, name); continue
            taken.setdefault(id(t), set()).add(new)
            for s, u in refs:
                edits[u[1], u[2]] = (name, new)
                if u[3] == "param": keywords.setdefault((getattr(t.node, "name", ""), name), set()).add(new)
            done += 1
    # class-level annotations and keywords are left
    if edits: Path(path).write_text(replace(source, edits))
print(done, "variables")
for path in ns["listed"]():
    source = Path(path).read_text()
    tree = ast.parse(source); edits = {}
    for n in ast.walk(tree):
        if isinstance(n, ast.Call):
            fn = n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")
            for k in n.keywords:
                if k.arg in FALL and k.arg != "crew":
                    cands = {v for (f, a), vs in keywords.items() if a == k.arg and f in (fn, "__init__") for v in vs}
                    print("keyword", path, k.lineno, fn, k.arg, cands)
                    if len(cands) == 1: edits[k.lineno, k.col_offset] = (k.arg, cands.pop())
    if edits: Path(path).write_text(replace(source, edits))
