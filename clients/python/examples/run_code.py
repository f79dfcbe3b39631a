"""Runs untrusted code without a network, and reads a file that it made."""

from aibox import Sandbox

CODE = """
import csv, random
random.seed(1)
with open("numbers.csv", "w") as out:
    csv.writer(out).writerows([[i, random.randint(1, 100)] for i in range(5)])
print("wrote 5 rows")
"""

with Sandbox.create(allowed_hosts=[], timeout=300) as sandbox:
    result = sandbox.run_python(CODE, timeout=60)
    print(result.status.value, result.stdout.strip())
    print(sandbox.read_text("numbers.csv").count("\n"), "rows read")
