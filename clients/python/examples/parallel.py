"""Runs several programs at once, each in a sandbox of its own."""

import asyncio

from aibox import AsyncSandbox


async def square(number: int) -> str:
    async with await AsyncSandbox.create(allowed_hosts=[], timeout=300) as sandbox:
        return (await sandbox.run_python(f"print({number} ** 2)")).stdout.strip()


async def main() -> None:
    print(await asyncio.gather(*(square(number) for number in range(3))))


asyncio.run(main())
