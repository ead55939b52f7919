"""Scope analysis: which binding each name in a Python file refers to."""
from __future__ import annotations
import ast

class Scope:
    def __init__(self, node, parent, kind):
        self.node, self.parent, self.kind = node, parent, kind
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        # (name, lineno, col, end_col, what)
        self.uses: list[tuple] = []
        self.children: list[Scope] = []
        if parent: parent.children.append(self)
    def resolve(self, name):
        scope = self
        first = True
        while scope:
            if name in scope.globals:
                while scope.parent: scope = scope.parent
                return scope
            if (first or scope.kind != "class") and name in scope.bound:
                return scope
            first = False
            scope = scope.parent
        return None
    def walk(self):
        yield self
        for c in self.children: yield from c.walk()

class Builder(ast.NodeVisitor):
    """Builds the scopes. Positions are (line, byte column)."""
    def __init__(self, source):
        self.lines = source.encode().split(b"\n")
        self.tree = ast.parse(source)
        self.root = self.scope = Scope(self.tree, None, "module")
        for node in self.tree.body: self.visit(node)
    def bind(self, name, pos, what):
        s = self.scope
        if what == "walrus":
            while s.kind == "comp": s = s.parent
        if name not in s.globals and name not in s.nonlocals: s.bound.add(name)
        if pos: s.uses.append((name, *pos, what))
    def use(self, name, pos):
        self.scope.uses.append((name, *pos, "load"))
    def within(self, node, kind, fn):
        old = self.scope
        self.scope = Scope(node, old, kind)
        fn(); self.scope = old
    def visit_Name(self, n):
        pos = (n.lineno, n.col_offset)
        if isinstance(n.ctx, ast.Load): self.use(n.id, pos)
        else: self.bind(n.id, pos, "store")
    def visit_NamedExpr(self, n):
        self.visit(n.value); self.bind(n.target.id, (n.target.lineno, n.target.col_offset), "walrus")
    def find(self, line, col, word):
        """The position of a word at or after a place on its line or a following one."""
        b = word.encode(); l = line
        import re
        while l <= len(self.lines):
            m = re.compile(rb"\b%s\b" % re.escape(b)).search(self.lines[l-1], col if l == line else 0)
            if m: return (l, m.start())
            l += 1
        raise LookupError(word)
    def function(self, n, is_lambda=False):
        if not is_lambda:
            for d in n.decorator_list: self.visit(d)
            start = n.decorator_list[-1].end_lineno if n.decorator_list else n.lineno
            self.bind(n.name, self.find(n.lineno, n.col_offset + 3, n.name), "def")
            if n.returns: self.visit(n.returns)
        a = n.args
        for d in [*a.defaults, *[k for k in a.kw_defaults if k]]: self.visit(d)
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs] + [x for x in (a.vararg, a.kwarg) if x]
        for x in every:
            if x.annotation: self.visit(x.annotation)
        def body():
            for x in every: self.bind(x.arg, (x.lineno, x.col_offset), "param")
            nodes = [n.body] if is_lambda else n.body
            for m in nodes:
                for k in ast.walk(m):
                    if isinstance(k, ast.Global): self.scope.globals.update(k.names)
                    if isinstance(k, ast.Nonlocal): self.scope.nonlocals.update(k.names)
            for m in nodes: self.visit(m)
        self.within(n, "function", body)
    def visit_FunctionDef(self, n): self.function(n)
    def visit_AsyncFunctionDef(self, n): self.function(n)
    def visit_Lambda(self, n): self.function(n, True)
    def visit_ClassDef(self, n):
        for d in [*n.decorator_list, *n.bases, *[k.value for k in n.keywords]]: self.visit(d)
        self.bind(n.name, self.find(n.lineno, n.col_offset + 5, n.name), "class")
        self.within(n, "class", lambda: [self.visit(m) for m in n.body])
    def comp(self, n):
        self.visit(n.generators[0].iter)
        def body():
            for i, g in enumerate(n.generators):
                if i: self.visit(g.iter)
                self.visit(g.target)
                for c in g.ifs: self.visit(c)
            if isinstance(n, ast.DictComp): self.visit(n.key); self.visit(n.value)
            else: self.visit(n.elt)
        self.within(n, "comp", body)
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comp
    def visit_ExceptHandler(self, n):
        if n.type: self.visit(n.type)
        if n.name:
            after = n.type
            self.bind(n.name, self.find(after.end_lineno, after.end_col_offset, n.name), "except")
        for m in n.body: self.visit(m)
    def visit_Import(self, n):
        for a in n.names: self.bind((a.asname or a.name.split(".")[0]), None, "import")
    def visit_ImportFrom(self, n):
        for a in n.names: self.bind(a.asname or a.name, None, "import")
    def visit_Global(self, n): pass
    def visit_Nonlocal(self, n): pass
    def visit_MatchAs(self, n):
        if n.pattern: self.visit(n.pattern)
        if n.name:
            at = self.find(n.pattern.end_lineno, n.pattern.end_col_offset, n.name) if n.pattern else (n.lineno, n.col_offset)
            self.bind(n.name, at, "match")
    def visit_MatchStar(self, n):
        if n.name: self.bind(n.name, (n.lineno, n.col_offset + 1), "match")
    def visit_MatchMapping(self, n):
        self.generic_visit(n)
        if n.rest: self.bind(n.rest, self.find(n.lineno, n.col_offset, n.rest), "match")

def replace(source, edits):
    """Edits: {(line, byte col): (old, new)}."""
    lines = source.encode().split(b"\n")
    for (line, col), (old, new) in sorted(edits.items(), reverse=True):
        b = lines[line-1]
        assert b[col:col+len(old.encode())] == old.encode(), (line, col, old, b)
        lines[line-1] = b[:col] + new.encode() + b[col+len(old.encode()):]
    return b"\n".join(lines).decode()
