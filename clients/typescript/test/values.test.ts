// Tests of values that have no form in a message: they must not be sent as another value.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FileInfo, Limits, ReadFileRequest, UpdateSandboxRequest } from "../src/schema.ts";

test("a number that has no form in a message is not sent as another one", () => {
  for (const memoryMib of [0.4, 1.5, 1e21]) assert.throws(() => Limits.toJSON({ memoryMib }), TypeError);
  assert.deepEqual(Limits.toJSON({ memoryMib: 512 }), { memoryMib: "512" });
  assert.throws(() => UpdateSandboxRequest.toJSON({ timeout: 1e-9 }), TypeError);
  assert.deepEqual(UpdateSandboxRequest.toJSON({ timeout: 1e-6 }), { timeout: "0.000001s" });
  assert.deepEqual(UpdateSandboxRequest.toJSON({ timeout: 0 }), { timeout: "0s" });
});

test("a received number is exact, or is not taken for one that is", () => {
  assert.equal(FileInfo.fromJSON({ sizeBytes: "9007199254740991" }).sizeBytes, Number.MAX_SAFE_INTEGER);
  for (const sizeBytes of ["9007199254740993", "9223372036854775807"]) {
    const offset = FileInfo.fromJSON({ sizeBytes }).sizeBytes;
    assert.ok(!Number.isSafeInteger(offset));
    assert.throws(() => ReadFileRequest.toJSON({ offset }), TypeError);
  }
  for (const sizeBytes of ["many", "", true, []]) assert.throws(() => FileInfo.fromJSON({ sizeBytes }), TypeError);
});
