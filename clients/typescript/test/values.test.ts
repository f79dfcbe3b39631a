// Tests of values that have no form in a message: they must not be sent as another value.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Limits, UpdateSandboxRequest } from "../src/schema.ts";

test("a number that has no form in a message is not sent as another one", () => {
  for (const memoryMib of [0.4, 1.5, 1e21]) assert.throws(() => Limits.toJSON({ memoryMib }), TypeError);
  assert.deepEqual(Limits.toJSON({ memoryMib: 512 }), { memoryMib: "512" });
  assert.throws(() => UpdateSandboxRequest.toJSON({ timeout: 1e-9 }), TypeError);
  assert.deepEqual(UpdateSandboxRequest.toJSON({ timeout: 1e-6 }), { timeout: "0.000001s" });
  assert.deepEqual(UpdateSandboxRequest.toJSON({ timeout: 0 }), { timeout: "0s" });
});
