// Runs a coding agent on a repository of the server's machine, reads its change, and accepts it
// as a branch.
import { argv } from "node:process";

import { Session } from "../src/index.ts";

const repository = argv[2];
const session = await Session.start("Greet the world in main.go", { agent: "codex", repository });
console.log((await session.wait()).state);
const changes = await session.changes();
for (const file of changes.files) console.log(file.path, `+${file.addedLines} -${file.removedLines}`);
const accepted = await session.accept(changes, { branch: "" });
console.log(accepted.branch.split("/")[0]);
await session.delete();
