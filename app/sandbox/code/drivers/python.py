# Runs Python code for package code. See driver.go.
def _driver(read, line):
    import ast, asyncio, inspect, json, linecache, os, signal, sys, traceback, types

    for fd in (3, 4, 5):
        os.set_inheritable(fd, False)
    pid = os.getpid()
    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    scope = module.__dict__
    sys.argv = [""]
    if "" not in sys.path:
        sys.path.insert(0, "")
    count = 0
    loop = None

    def write(fd, data):
        while data:
            data = data[os.write(fd, data):]

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass

    def answer(nonce, result):
        flush()
        write(4, b"\0" + nonce + json.dumps(result).encode() + b"\0")
        write(5, b"\0" + nonce + b"\0")

    def begin(nonce):
        for fd in (4, 5):
            write(fd, b"\0" + nonce + b"\0")

    def evaluate(code, name):
        nonlocal loop
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        value = None
        for part, kind in ((tree, "exec"), (last, "eval")):
            if part is None:
                continue
            compiled = compile(part, name, kind, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            value = eval(compiled, scope)
            if compiled.co_flags & inspect.CO_COROUTINE:
                loop = loop or asyncio.new_event_loop()
                asyncio.set_event_loop(loop)
                value = loop.run_until_complete(value)
            if kind == "exec":
                value = None
        return "" if value is None else repr(value)[:1 << 16]

    def run(code):
        nonlocal count
        count += 1
        name = "<code %d>" % count
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                return {"value": evaluate(code, name)}
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except SystemExit as e:
            if e.code is None or isinstance(e.code, int):
                return {"exit": e.code or 0}
            print(e.code, file=sys.stderr)
            return {"exit": 1}
        except BaseException as e:
            trace = e.__traceback__
            while trace and trace.tb_frame.f_code.co_filename == "<driver>":
                trace = trace.tb_next
            text = "".join(traceback.format_exception(type(e), e, trace))
            try:
                sys.stderr.write(text)
            except Exception:
                pass
            return {"error": text[:1 << 16]}

    def check(code):
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            return {"findings": [{"rule": "syntax", "message": str(getattr(e, "msg", e)), "line": getattr(e, "lineno", 0) or 0, "column": getattr(e, "offset", 0) or 0}]}
        modules = {
            "network": "socket ssl urllib http ftplib smtplib telnetlib poplib imaplib requests httpx aiohttp urllib3 websocket websockets paramiko asyncssh".split(),
            "process": "subprocess multiprocessing pty pexpect".split(),
            "native": "ctypes cffi _ctypes".split(),
            "deserialize": "pickle marshal shelve dill".split(),
        }
        calls = {"eval": "dynamic-code", "exec": "dynamic-code", "compile": "dynamic-code", "__import__": "dynamic-code"}
        found = []

        def add(node, rule, what):
            if len(found) < 100:
                found.append({"rule": rule, "message": what, "line": node.lineno, "column": node.col_offset + 1})

        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                for rule, list in modules.items():
                    if name.split(".")[0] in list:
                        add(node, rule, "imports " + name)
            if isinstance(node, ast.Call):
                f = node.func
                if isinstance(f, ast.Name) and f.id in calls:
                    add(node, calls[f.id], "calls " + f.id)
                elif isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name):
                    if f.value.id == "os" and (f.attr in ("system", "popen", "fork", "forkpty", "kill", "killpg") or f.attr.startswith(("exec", "spawn", "posix_spawn"))):
                        add(node, "process", "calls os." + f.attr)
                    elif f.value.id == "importlib" and f.attr == "import_module":
                        add(node, "dynamic-code", "calls importlib.import_module")
        return {"findings": found}

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        nonce, mode, size = line().split()
        code = read(int(size)).decode("utf-8", "surrogateescape")
        nonce = nonce.encode()
        if mode == "check":
            answer(nonce, check(code))
            return
        if mode == "keep":
            begin(nonce)
        result = run(code)
        if os.getpid() != pid:
            flush()
            os._exit(result.get("exit", 1 if "error" in result else 0))
        answer(nonce, result)
        if mode == "run":
            sys.exit(result.get("exit", 1 if "error" in result else 0))


_driver(_read, _line)
