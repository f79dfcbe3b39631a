// Tests of connections that fall silent or lead to a proxy, of answers that no server of aibox
// gives. Each test has a server of its own.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTCPServer } from "node:net";
import { test, type TestContext } from "node:test";

import { Connection } from "../src/connection.ts";
import * as aibox from "../src/index.ts";
import { NodeTransport } from "../src/node.ts";
import { FetchTransport } from "../src/transport.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Calls use with a client of a server that handles each request by the next handler. */
async function serving(handlers: Handler[], use: (client: aibox.Client, address: string) => Promise<void>): Promise<void> {
  const left = [...handlers];
  const server = createServer((request, response) => {
    response.setHeader("connection", "close");
    const handler = left.shift();
    if (handler) handler(request, response);
    else response.destroy();
  });
  await listen(server, 0);
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new aibox.Client({ address, token: "token" });
  try {
    await use(client, address);
  } finally {
    await client.close();
    server.closeAllConnections();
    server.close();
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
}

const answer = (status: number, body: string, type = "application/json"): Handler => {
  return (request, response) => void request.resume().on("end", () => response.writeHead(status, { "content-type": type }).end(body));
};

const envelope = (document: unknown, flags = 0): Buffer => {
  const data = Buffer.from(JSON.stringify(document));
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
};

const stream = (...parts: Buffer[]): Handler => {
  return (request, response) => void request.resume().on("end", () => response.end(Buffer.concat(parts)));
};

const BAD_GATEWAY = answer(502, "<html>Bad Gateway</html>", "text/html");
const INFO = answer(200, '{"version": "1.2.3"}');
const ONE = envelope({ seq: "1", stdout: { data: "YQ==" } });
const EXIT = Buffer.concat([envelope({ seq: "2", exit: { code: 3 } }), envelope({}, 2)]);

const sandboxOf = (client: aibox.Client): aibox.Sandbox => new aibox.Sandbox(client, { sandboxId: "s" } as aibox.schema.Sandbox);

async function numbers(client: aibox.Client): Promise<number[]> {
  const found = [];
  for await (const event of sandboxOf(client).process(1).events()) found.push(event.seq);
  return found;
}

test("an error of the source of an upload is that of the caller", async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1);
    throw Object.assign(new Error("the file is missing"), { code: "ENOENT" });
  }
  await serving([(request) => void request.resume()], async (client) => {
    await assert.rejects(sandboxOf(client).writeFile("x", broken()), (err: Error) => !(err instanceof aibox.AiboxError) && err.message === "the file is missing");
  });
});

test("a call is repeated while a proxy does not reach the server", async () => {
  await serving([BAD_GATEWAY, answer(503, '{"message": "no upstream"}'), INFO], async (client) => {
    assert.equal((await client.info()).version, "1.2.3");
  });
});

test("a call that cannot be repeated is lost at a proxy", async () => {
  await serving([BAD_GATEWAY], (client) => assert.rejects(sandboxOf(client).exec(["true"]), aibox.ConnectionLostError));
});

test("a stream continues when a proxy reaches the server again", async () => {
  await serving([stream(ONE), BAD_GATEWAY, stream(EXIT)], async (client) => assert.deepEqual(await numbers(client), [1, 2]));
});

test("an error of the server itself is no error of a proxy", async () => {
  await serving([answer(503, '{"code": "unavailable", "message": "no runtime"}')], (client) => assert.rejects(client.info(), aibox.MachineError));
});

test("a call is repeated that the end of the server has canceled", async () => {
  await serving([answer(499, '{"code": "canceled"}'), INFO], async (client) => assert.equal((await client.info()).version, "1.2.3"));
});

test("what is no answer of the schema is an error of the protocol", async () => {
  for (const body of ["null", "3", '{"quota": 3}', '{"rights": 3}']) {
    await serving([answer(200, body)], (client) => assert.rejects(client.info(), aibox.ProtocolError, body));
  }
  for (const parts of [[envelope(null)], [envelope(null, 2)], [envelope({ started: { argv: 3 } })]]) {
    await serving([stream(...parts)], (client) => assert.rejects(numbers(client), aibox.ProtocolError));
  }
  for (const error of ["null", '{"error": 3, "code": 4}', '{"code": "internal", "details": 3}', '{"code": "internal", "details": [null]}', '{"kind": "invalid", "hints": 3}']) {
    await serving([answer(400, error)], (client) => assert.rejects(client.info(), aibox.AiboxError, error));
  }
});

test("a stream continues on another connection if the first one is silent", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let requests = 0;
  const counted = (handler: Handler): Handler => (request, response) => {
    requests++;
    handler(request, response);
  };
  // Passes time until the next request: the waits between attempts are short.
  const until = async (count: number): Promise<void> => {
    while (requests < count) {
      await new Promise((resolve) => setImmediate(resolve));
      context.mock.timers.tick(20);
    }
  };
  const handlers: Handler[] = [(_, response) => void response.write(ONE), () => undefined, stream(EXIT)];
  await serving(handlers.map(counted), async (client) => {
    const events = sandboxOf(client).process(1).events();
    assert.equal((await events.next()).value?.seq, 1);
    const next = events.next();
    for (let request = 2; request <= 3; request++) {
      context.mock.timers.tick(60_000);
      await until(request);
    }
    assert.equal((await next).value?.seq, 2);
    await events.return(undefined);
  });
});

/** Asserts that a stream is lost if nothing arrives after its first event. */
async function assertLost(context: TestContext, open: (client: aibox.Client) => AsyncGenerator<unknown>): Promise<void> {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  await serving([(_, response) => void response.write(envelope({}))], async (client) => {
    const events = open(client);
    await events.next();
    const next = events.next();
    let ended = false;
    const failed = assert.rejects(next, aibox.ConnectionLostError).finally(() => (ended = true));
    for (let turns = 0; turns < 1000 && !ended; turns++) {
      context.mock.timers.tick(60_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(ended);
    await failed;
  });
}

test("a watch is lost if its connection is silent", (context) => assertLost(context, (client) => sandboxOf(client).watch("/")));

test("a stream of events without a wrapper is lost if its connection is silent", (context) =>
  assertLost(context, (client) => client.templates.create({ name: "x" })));

test("a stream of events can have no limit of silence", async () => {
  await serving([stream(envelope({ log: "x" }), envelope({}, 2))], async (client) => {
    const logs = [];
    for await (const event of client.templates.create({ name: "x" }, { maxSilence: Infinity })) logs.push(event.log);
    assert.deepEqual(logs, ["x"]);
  });
});

test("calls of all kinds wait for a server that is being restarted", async (context) => {
  for (const use of [
    (sandbox: aibox.Sandbox) => sandbox.readFile("x"),
    (sandbox: aibox.Sandbox) => sandbox.writeFile("x", (async function* () { yield new Uint8Array(3); })()),
    (sandbox: aibox.Sandbox) => sandbox.requestPort(80),
  ]) {
    const server = createServer(stream(envelope({}), envelope({}, 2)));
    await listen(server, 0);
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const client = new aibox.Client({ address: `http://127.0.0.1:${port}`, token: "token" });
    const wait = setTimeout;
    let paused = 0;
    const waits = context.mock.method(globalThis, "setTimeout", (then: () => void, time: number) => {
      if (time > 1000) return wait(then, time); // a limit, and no pause between attempts
      paused++;
      server.once("listening", () => wait(then, 0));
      return server.listen(port, "127.0.0.1"); // once the client has noticed that the server is missing
    });
    try {
      await use(sandboxOf(client));
      assert.equal(paused, 1);
    } finally {
      waits.mock.restore();
      await client.close();
      server.closeAllConnections();
      server.close();
    }
  }
});

test("the path of a request to a port does not leave the port", async () => {
  let path: string | undefined;
  const handler: Handler = (request, response) => {
    path = request.url;
    response.end();
  };
  await serving([handler], async (client) => {
    await sandboxOf(client).requestPort(80, "/../../../t/ports/80/x#y");
    assert.equal(path, "/v1/sandboxes/s/ports/80/../../../t/ports/80/x#y");
  });
  await serving([handler], async (_, address) => {
    const sandbox = sandboxOf(new aibox.Client({ address }));
    assert.throws(() => sandbox.portURL(80, "/../x"), aibox.InvalidError);
    assert.equal(sandbox.portURL(80, "/#/../login"), `${address}/v1/sandboxes/s/ports/80/#/../login`);
    assert.equal(sandbox.portURL(80, "/a..b/.c?d=/../"), `${address}/v1/sandboxes/s/ports/80/a..b/.c?d=/../`);
    const browser = new FetchTransport(address);
    for (const bad of ["/v1/a/../b", "/v1/a/.", "/v1/%2E%2e/b", "/v1/a#b"]) {
      await assert.rejects(browser.send({ method: "GET", path: bad, headers: {} }), aibox.InvalidError, bad);
    }
    assert.equal((await browser.send({ method: "GET", path: "/v1/a..b/.c?d=/../", headers: {} })).status, 200);
  });
});

// Paths of ports, and how they are sent. The tests of the client for Python have the same ones.
const portPaths: Record<string, string> = {
  "/a%2Fb?q=a%26b": "/a%2Fb?q=a%26b",
  "/%5B1%5D?x[]=[1]": "/%5B1%5D?x[]=[1]",
  "/100%?q=50%25": "/100%25?q=50%25",
  "/100%.txt?%4g%": "/100%25.txt?%254g%25",
  "/a b/é": "/a%20b/%C3%A9",
  "/x;y,z:@&=+$-_.!~*'()#z": "/x;y,z:@&=+$-_.!~*'()#z",
  '/"<>^`{|}\\': "/%22%3C%3E%5E%60%7B%7C%7D%5C",
};

test("what is escaped in the path of a port stays as it is", async () => {
  const sandbox = sandboxOf(new aibox.Client({ address: "http://localhost:1" }));
  for (const [path, escaped] of Object.entries(portPaths)) {
    assert.equal(sandbox.portURL(80, path), `http://localhost:1/v1/sandboxes/s/ports/80${escaped}`);
  }
  assert.throws(() => sandbox.portURL(80, "/%2e%2E/x"), aibox.InvalidError);
  let sent: string | undefined;
  const handler: Handler = (request, response) => {
    sent = request.url;
    response.end();
  };
  await serving([handler], async (client) => {
    await sandboxOf(client).requestPort(80, "/a%2Fb?q=a%26b");
    assert.equal(sent, "/v1/sandboxes/s/ports/80/a%2Fb?q=a%26b");
  });
});

test("a fork is returned although its snapshot cannot be deleted", async () => {
  const taken = answer(200, '{"snapshotId": "n"}');
  const broken = answer(500, '{"code": "internal", "message": "broken"}');
  await serving([taken, answer(200, '{"sandboxId": "t"}'), broken], async (client) => {
    assert.equal((await sandboxOf(client).fork()).sandboxId, "t");
  });
  await serving([taken, answer(429, '{"code": "resource_exhausted", "message": "full"}'), broken], (client) =>
    assert.rejects(sandboxOf(client).fork(), aibox.LimitError),
  );
});

test("what an attempt with a lost answer has deleted is deleted", async () => {
  const missing = answer(404, '{"code": "not_found", "message": "there is no volume"}');
  const lose: Handler = (_, response) => void response.destroy();
  for (const lost of [BAD_GATEWAY, lose]) {
    await serving([lost, missing], (client) => client.volumes.delete({ name: "v" }));
  }
  await serving([missing], (client) => assert.rejects(client.volumes.delete({ name: "v" }), aibox.NotFoundError));
  await serving([BAD_GATEWAY, missing], (client) => assert.rejects(sandboxOf(client).refresh(), aibox.NotFoundError));
});

test("a stream continues although the clock of the machine is set", async (context) => {
  let now = 0;
  context.mock.method(Date, "now", () => (now += 3_600_000));
  await serving([stream(ONE), BAD_GATEWAY, BAD_GATEWAY, stream(EXIT)], async (client) => assert.deepEqual(await numbers(client), [1, 2]));
});

test("the URL of an opened port is the one that the server signed", async () => {
  const signed = "http://80-s.localhost:8800/?aibox=signed";
  await serving([answer(200, JSON.stringify({ url: signed }))], async (client) => {
    assert.equal(await sandboxOf(client).openPort(80), signed);
  });
});

test("an address may be written in capitals, and has no fragment", () => {
  assert.equal(new Connection({ address: "HTTPS://Example.com/" }).baseURL, "https://example.com");
  assert.equal(new Connection({ address: "http://[::1]:8800" }).baseURL, "http://[::1]:8800");
  for (const address of ["http://example.com/#x", "http://example.com/x", "http://:secret@example.com"]) {
    assert.throws(() => new Connection({ address }), aibox.InvalidError, address);
  }
});

test("all headers of a name are returned", async () => {
  const handler: Handler = (_, response) => void response.setHeader("set-cookie", ["a=1", "b=2"]).end();
  await serving([handler], async (client) => {
    assert.equal((await sandboxOf(client).requestPort(80)).headers["set-cookie"], "a=1, b=2");
  });
});

test("text keeps its byte order mark", async () => {
  const content = Buffer.from("\uFEFFa,b").toString("base64");
  await serving([stream(envelope({ content: { data: content } }), envelope({}, 2))], async (client) => {
    assert.equal(await sandboxOf(client).readText("x"), "\uFEFFa,b");
  });
});

test("a connection that is not made in time is lost", async () => {
  const silent = createTCPServer(); // it never answers the beginning of TLS
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const transport = new NodeTransport({ baseURL: `https://127.0.0.1:${(silent.address() as AddressInfo).port}` }, 50);
  try {
    const request = { method: "GET", path: "/", headers: {} };
    await assert.rejects(transport.send(request), /no connection was made within 0.05 seconds/);
  } finally {
    transport.close();
    silent.close();
  }
});

test("an error names the socket that cannot be reached", async () => {
  const { XDG_RUNTIME_DIR: before, AIBOX_URL: url } = process.env;
  process.env["XDG_RUNTIME_DIR"] = "/nonexistent";
  delete process.env["AIBOX_URL"];
  const client = new aibox.Client();
  try {
    await assert.rejects(client.info(), (err: Error) => err instanceof aibox.ConnectionLostError && /unix:\/nonexistent\/aibox\/api\/aibox.*\.sock: ENOENT/.test(err.message));
  } finally {
    await client.close();
    for (const [name, value] of Object.entries({ XDG_RUNTIME_DIR: before, AIBOX_URL: url })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});
