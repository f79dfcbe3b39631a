"""Tests of values that have no form in a message: they must not be sent as another value."""

import unittest

from aibox import Client, Sandbox, errors, schema
from aibox.results import duration


# Paths of ports, and how they are sent. The tests of the client for TypeScript have the same ones.
PORT_PATHS = {
    "/a%2Fb?q=a%26b": "/a%2Fb?q=a%26b",
    "/%5B1%5D?x[]=[1]": "/%5B1%5D?x[]=[1]",
    "/100%?q=50%25": "/100%25?q=50%25",
    "/100%.txt?%4g%": "/100%25.txt?%254g%25",
    "/a b/é": "/a%20b/%C3%A9",
    "/x;y,z:@&=+$-_.!~*'()#z": "/x;y,z:@&=+$-_.!~*'()#z",
    "/\"<>^`{|}\\": "/%22%3C%3E%5E%60%7B%7C%7D%5C",
}


class ValueTest(unittest.TestCase):
    def test_a_fraction_is_no_whole_number(self) -> None:
        for message in (schema.Limits(memory_mib=0.5), schema.Limits(processes=0.5), schema.Permissions(max_processes=0.5)):  # type: ignore[arg-type]
            with self.subTest(message=message), self.assertRaisesRegex(ValueError, "0.5 is not a whole number"):
                message.to_json()
        self.assertEqual(schema.Limits(memory_mib=512.0, processes=64).to_json(), {"memoryMib": "512", "processes": 64})  # type: ignore[arg-type]

    def test_a_short_time_is_not_the_time_without_a_limit(self) -> None:
        with self.assertRaisesRegex(ValueError, "shorter than a microsecond"):
            duration(1e-9)
        for seconds in (0, 1e-6, -1):
            found = duration(seconds)
            assert found is not None
            self.assertEqual(found.total_seconds(), seconds)

    def test_what_is_no_host_is_no_address(self) -> None:
        for address in ("http://a..b", f"http://{'a' * 64}.example", "http://[::1"):
            with self.subTest(address=address), self.assertRaises(errors.InvalidError):
                Client(address, "token")

    def test_the_url_of_a_port_does_not_leave_the_port(self) -> None:
        sandbox = Sandbox(Client("http://localhost:1", "token"), schema.Sandbox(sandbox_id="s"))
        for path in ("/../x", "/a/%2E%2e/x", "/a/."):
            with self.subTest(path=path), self.assertRaises(errors.InvalidError):
                sandbox.port_url(80, path)
        self.assertEqual(sandbox.port_url(80, "/#/../login"), "http://localhost:1/v1/sandboxes/s/ports/80/#/../login")
        self.assertEqual(sandbox.port_url(80, "/a..b/.c?d=/../"), "http://localhost:1/v1/sandboxes/s/ports/80/a..b/.c?d=/../")
        for path, escaped in PORT_PATHS.items():
            self.assertEqual(sandbox.port_url(80, path), f"http://localhost:1/v1/sandboxes/s/ports/80{escaped}")


if __name__ == "__main__":
    unittest.main()
