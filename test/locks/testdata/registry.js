// Stands in for npm: starts a registry in which every package was replaced, and runs npm
// against it. What is in capitals is filled in by the test.
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
const { execFileSync, spawn } = require("node:child_process");
const { mkdirSync, writeFileSync, readFileSync, mkdtempSync } = require("node:fs");
const packages = PACKAGES, lie = LIE;

function tarball(manifest) {
  const dir = mkdtempSync("/tmp/evil-");
  mkdirSync(`${dir}/package`);
  writeFileSync(`${dir}/package/package.json`, JSON.stringify(manifest));
  writeFileSync(`${dir}/package/claude`, "#!/bin/sh\necho POISONED\n", { mode: 0o755 });
  execFileSync("tar", ["-czf", `${dir}/p.tgz`, "-C", dir, "package"]);
  return readFileSync(`${dir}/p.tgz`);
}

const served = {};
const server = createServer((request, response) => {
  const url = decodeURIComponent(request.url);
  if (served[url]) return response.end(served[url]);
  const name = url.slice(1), known = packages[name];
  if (!known) return response.writeHead(404).end("{}");
  const versions = {};
  for (const [version, entry] of Object.entries(known)) {
    const { integrity, ...rest } = entry;
    const manifest = { ...rest, name, version };
    delete manifest.hasInstallScript;
    if (name === "@charmland/crush") manifest.archives = ARCHIVES;
    const data = tarball(manifest), path = `/-/${name}/${version}.tgz`;
    served[path] = data;
    const own = "sha512-" + createHash("sha512").update(data).digest("base64");
    versions[version] = { ...manifest, dist: { tarball: `http://127.0.0.1:${server.address().port}${path}`, integrity: lie ? integrity : own } };
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ name, "dist-tags": {}, versions }));
});
server.listen(0, "127.0.0.1", () => {
  const npm = ["/usr/local/lib/node_modules/npm/bin/npm-cli.js", ...process.argv.slice(2), `--registry=http://127.0.0.1:${server.address().port}`, "--fetch-retries=0"];
  spawn(process.execPath, npm, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1));
});
