#!/usr/bin/python3 -IS
"""Python that has imported PyTorch once. A program that needs it is forked from there: to import it
takes ten times as long as most of the steps that these tests make.

    forked.py serve SOCKET    serves from the end of its standard output to that of its input
    python3 ...               this file under that name: a program as Python takes it, at the socket
                              beside this file

The program has the caller's streams, variables and folder, and ends as it ends; it is killed when
the caller is.
"""
import gc
import json
import os
import select
import signal
import socket
import sys

LIBRARIES = "LD_LIBRARY_PATH"  # which only the start of a process reads


def ask():
    """Has a program run, and ends as it."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "socket"))
        socket.send_fds(s, [b"f"], [0, 1, 2])
        s.sendall(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode() + b"\n")
        code = int(s.makefile().read() or "70")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def serve(path):
    """Returns in each program's process, with its words."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    os.close(1)  # callers wait from here on
    os.open(os.devnull, os.O_WRONLY)
    import torch._dynamo  # noqa: F401 a step of an optimizer imports it

    gc.collect()
    gc.freeze()  # no program takes apart at its end what it has from here
    while listener in select.select([sys.stdin, listener], [], [])[0]:
        caller, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return hand_over(caller)
        caller.close()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            sys.exit()


def hand_over(caller):
    """Makes this process the caller's program, whose words it returns. One stays to watch both."""
    fds = socket.recv_fds(caller, 1, 3)[1]
    words, environ, folder = json.loads(caller.makefile().readline())
    program = os.fork()
    if program != 0:
        end = os.pidfd_open(program)
        if end not in select.select([end, caller], [], [])[0]:
            os.kill(program, signal.SIGKILL)
            os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
        caller.sendall(str(code).encode())
        os._exit(0)
    caller.close()
    for to, fd in enumerate(fds):
        os.dup2(fd, to)
        os.close(fd)
    assert environ.get(LIBRARIES, os.environ[LIBRARIES]) == os.environ[LIBRARIES], "the libraries are not those of the loopback"
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    return words


def run(words):
    """Runs a program as Python does that is started for it, with what sitecustomize would do."""
    import runpy
    import warnings

    sys.path[:1] = os.environ.get("PYTHONPATH", "").split(":")
    if "ZBENCH_TORCH_RANKS" in os.environ:
        import zbench_torch

        zbench_torch.install()
    if words[0] == "-W":
        warnings.simplefilter(words[1])
        del words[:2]
    sys.argv = words
    if words[0] == "-c":
        exec(words.pop(1), {"__name__": "__main__"})
    else:
        runpy.run_path(words[0], run_name="__main__")


if sys.argv[1:2] == ["serve"]:
    run(serve(sys.argv[2]))
else:
    ask()
