"""Starts the dashboard and opens it in a browser (`sow ui`)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack

from sow.cli.context import Context
from sow.cli.output import emit
from sow.dashboard.server import access
from sow.dashboard.server.server import Server
from sow.errors import SowError, Waiting
from sow.store.files.checkout_home import Home
from sow.system.terminal import err, escape_line, out

PATIENCE = 5.0
PAUSE = 0.05


def ui(context: Context, *, port: str, open: bool, read_only: bool, json: bool) -> int:
    port_number = _port(port)
    home, actor = context.project_home(), context.actor()
    if actor.is_worker and not read_only:
        err("note: this dashboard is read-only, because a worker started it")
        read_only = True
    with ExitStack() as stack:
        try:
            stack.enter_context(home.claim(_claim(read_only=read_only), purpose="dashboard"))
        except Waiting:
            return _show_running(context, home, read_only=read_only, open=open, json=json)
        server = Server(home, context.environment, person=actor.name, read_only=read_only, port=port_number)
        return _serve(server, open=open, json=json)


def _claim(*, read_only: bool) -> str:
    """Returns the name of the claim; a read-only dashboard can run beside a normal one."""
    return "ui-read-only" if read_only else "ui"


def _port(text: str) -> int | None:
    """Returns the port of --port; 0 lets the system choose."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535):
        raise SowError(f"--port is {text!r:.60}, which is not a port", "use a number from 1024 to 65535, or 0 for any")
    return int(text)


def _serve(server: Server, *, open: bool, json: bool) -> int:
    """Serves requests until Ctrl-C or SIGTERM, which are not failures."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if server.moved_from:
            err(f"note: port {server.moved_from} is in use, so this is port {server.port}")
        _tell(server.address, server.port, os.getpid(), read_only=server.read_only, new=True, json=json)
        if open:  # in a thread, because a terminal browser blocks until it is closed
            threading.Thread(target=_open, args=(server.address,), daemon=True).start()
        server.serve()
    except KeyboardInterrupt:
        err("stopped; open pages reconnect when you run 'sow ui' again")
    finally:
        server.stop()
    return 0


def _show_running(context: Context, home: Home, *, read_only: bool, open: bool, json: bool) -> int:
    """Prints the address of the dashboard that already runs."""
    path = access.path(context.environment, home.root, read_only=read_only)
    name = _claim(read_only=read_only)
    give_up = time.monotonic() + PATIENCE
    while not (holder := home.claim_holder(name)) or (details := access.read_secrets(path)).get("pid") != holder.pid:
        if time.monotonic() > give_up:
            raise Waiting(
                f"a dashboard of {home.root} is running, but {path} does not have its address",
                "stop that process, then run: sow ui",
            )
        time.sleep(PAUSE)
    url = access.address(details["port"], details["token"])
    _tell(url, details["port"], details["pid"], read_only=read_only, new=False, json=json)
    if open:
        _open(url)
    return 0


def _tell(url: str, port: int, pid: int, *, read_only: bool, new: bool, json: bool) -> None:
    if json:
        emit({"url": url, "port": port, "pid": pid, "read_only": read_only, "started": new})
    else:
        out(url)
        err("the address is for one browser; Ctrl-C ends the dashboard" if new else f"already running (pid {pid})")
    sys.stdout.flush()


def _open(url: str) -> None:
    """Opens the page in the user's browser, or prints a note if there is none."""
    import webbrowser  # here, because it loads much that a server without a browser does not need

    has_display = sys.platform == "darwin" or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    try:
        opened = has_display and webbrowser.open(url)
    except (webbrowser.Error, OSError) as error:
        err(f"note: {escape_line(str(error))}")
        opened = False
    if not opened:
        err("note: no browser could be opened; open the address above")
