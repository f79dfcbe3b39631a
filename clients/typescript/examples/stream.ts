// Shows the output of a command while it runs.
import { Sandbox } from "../src/index.ts";

const sandbox = await Sandbox.create({ timeout: 300 });
try {
  for await (const event of sandbox.execStream("for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 4")) {
    if (event.stdout) console.log(event.seq, new TextDecoder().decode(event.stdout.data).trim());
    else if (event.exit) console.log("exit code", event.exit.code);
  }
} finally {
  await sandbox.destroy();
}
