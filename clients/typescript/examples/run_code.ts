// Runs untrusted code without a network, and reads a file that it made.
import { Sandbox } from "../src/index.ts";

const sandbox = await Sandbox.create({ allowedHosts: [], timeout: 300 });
try {
  const result = await sandbox.runPython('open("numbers.txt", "w").write("1 2 3"); print("written")', { timeout: 60 });
  console.log(result.status, result.stdout.trim());
  console.log(await sandbox.readText("numbers.txt"));
} finally {
  await sandbox.destroy();
}
