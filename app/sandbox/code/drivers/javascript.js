// Runs JavaScript code for package code. See driver.go.
const fs = require("fs");
const vm = require("vm");
const util = require("util");
globalThis.require = require("module").createRequire(process.cwd() + "/");

const write = (fd, text) => {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(fd, rest));
    } catch (e) {
      if (e.code !== "EAGAIN") throw e;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};
const answer = (nonce, result) => {
  write(4, "\0" + nonce + JSON.stringify(result) + "\0");
  write(5, "\0" + nonce + "\0");
};
const begin = (nonce) => {
  for (const fd of [4, 5]) write(fd, "\0" + nonce + "\0");
};
const shown = (e) => (e instanceof Error && e.stack ? e.stack.split("\n").filter((l) => !/\[eval\]|node:vm|evalmachine\.<anonymous>.*Function/.test(l)).join("\n") : "Uncaught " + util.inspect(e));

let count = 0;
let interrupt = () => {};
const interrupted = () => interrupt();
const listen = () => {
  process.removeListener("SIGINT", interrupted);
  process.on("SIGINT", interrupted);
};
const options = () => {
  const o = { filename: "code" + ++count + ".js" };
  if (vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER) o.importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return o;
};
const compile = (code) => {
  try {
    return new vm.Script(code, options());
  } catch (e) {
    if (!(e instanceof SyntaxError) || !/\bawait\b/.test(code)) throw e;
    // A single expression has a value. The variables of other code are those of a function.
    for (const body of ["(" + code.replace(/;\s*$/, "") + "\n)", "{" + code + "\n}"]) {
      try {
        return new vm.Script("(async () => " + body + ")()", options());
      } catch {
        continue;
      }
    }
    throw e;
  }
};
const run = async (code, kept) => {
  try {
    let value;
    try {
      value = compile(code).runInThisContext({ breakOnSigint: kept, displayErrors: false });
    } finally {
      if (kept) listen(); // breakOnSigint has restored the default action, which ends the process
    }
    if (value && typeof value.then === "function") {
      value = await Promise.race([value, new Promise((_, no) => { interrupt = () => no(new Error("interrupted")); })]);
    }
    return { value: value === undefined ? "" : util.inspect(value).slice(0, 1 << 16) };
  } catch (e) {
    const text = shown(e) + "\n";
    write(5, text);
    return { error: text.slice(0, 1 << 16) };
  } finally {
    interrupt = () => {};
  }
};

const check = (code) => {
  try {
    new vm.Script(code, { filename: "code.js" });
  } catch (e) {
    try {
      new vm.Script("(async () => {" + code + "\n})()", { filename: "code.js" });
    } catch {
      const at = /code\.js:(\d+)/.exec(e.stack || "");
      return { findings: [{ rule: "syntax", message: String(e.message), line: at ? Number(at[1]) : 0, column: 0 }] };
    }
  }
  const found = [];
  let acorn;
  try {
    acorn = require("internal/deps/acorn/acorn/dist/acorn");
  } catch {
    return { findings: found };
  }
  let tree;
  try {
    tree = acorn.parse(code, { ecmaVersion: "latest", sourceType: "script", locations: true, allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true, allowHashBang: true });
  } catch {
    return { findings: found };
  }
  const modules = {
    network: ["http", "https", "http2", "net", "tls", "dgram", "dns", "undici", "axios", "node-fetch", "ws"],
    process: ["child_process", "cluster", "worker_threads"],
    "dynamic-code": ["vm"],
  };
  const add = (node, rule, message) => {
    if (found.length < 100) found.push({ rule, message, line: node.loc.start.line, column: node.loc.start.column + 1 });
  };
  const imported = (node, source) => {
    if (!source || typeof source.value !== "string") return;
    const name = source.value.replace(/^node:/, "").split("/")[0];
    for (const [rule, names] of Object.entries(modules)) if (names.includes(name)) add(node, rule, "imports " + name);
  };
  const visit = (node) => {
    if (node.type === "CallExpression" || node.type === "NewExpression") {
      const f = node.callee;
      if (f.type === "Identifier" && f.name === "require") imported(node, node.arguments[0]);
      if (f.type === "Identifier" && (f.name === "eval" || f.name === "Function")) add(node, "dynamic-code", "calls " + f.name);
      if (f.type === "Identifier" && ["fetch", "WebSocket", "XMLHttpRequest"].includes(f.name)) add(node, "network", "calls " + f.name);
      if (f.type === "MemberExpression" && f.object.name === "process" && ["binding", "dlopen"].includes(f.property.name)) add(node, "native", "calls process." + f.property.name);
    }
    if (node.type === "ImportExpression" || node.type === "ImportDeclaration") imported(node, node.source);
  };
  const stack = [tree];
  while (stack.length > 0) {
    const node = stack.pop();
    if (Array.isArray(node)) stack.push(...node.slice().reverse());
    else if (node && typeof node.type === "string") {
      visit(node);
      stack.push(...Object.values(node).filter((v) => v && typeof v === "object").reverse());
    }
  }
  return { findings: found };
};

const serveKept = async (nonce, size) => {
  listen();
  const report = (e) => write(5, shown(e) + "\n");
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
  const read = util.promisify(fs.read);
  const exactly = async (n) => {
    const b = Buffer.alloc(n);
    for (let at = 0; at < n; ) {
      const { bytesRead } = await read(3, b, at, n - at, null);
      if (bytesRead === 0) process.exit(0);
      at += bytesRead;
    }
    return b;
  };
  for (;;) {
    const code = (await exactly(Number(size))).toString();
    begin(nonce);
    const result = await run(code, true);
    answer(nonce, result);
    let header = "";
    while (!header.endsWith("\n")) header += (await exactly(1)).toString("latin1");
    [nonce, , size] = header.split(" ");
  }
};
const serveOnce = (nonce, mode, code) => {
  if (mode === "check") return answer(nonce, check(code));
  let result = {};
  process.on("exit", () => answer(nonce, result));
  run(code, false).then((r) => {
    result = r;
    if (r.error) process.exitCode = 1;
  });
};

const [nonce, mode, size] = lineNow().split(" ");
if (mode === "keep") serveKept(nonce, size);
else serveOnce(nonce, mode, readNow(parseInt(size, 10)).toString());
