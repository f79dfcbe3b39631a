package workspace

import "testing"

func TestRelativeAddressesOfSubmodules(t *testing.T) {
	for _, c := range []struct{ of, named, want string }{
		{"https://host/team/app.git", "../lib.git", "https://host/team/lib.git"},
		{"https://host/team/app/", "../../other/lib", "https://host/other/lib"},
		{"https://host/team/app", "./lib", "https://host/team/app/lib"},
		{"git@host:team/app.git", "../lib.git", "git@host:team/lib.git"},
		{"git@host:app.git", "../lib.git", "git@host:lib.git"},
		{"https://host/app", "ssh://git@else/lib", "ssh://git@else/lib"},
		{"https://host/app", "./../lib/", "https://host/lib"},
		{"x", "../../lib", ":lib"},
	} {
		if got := moduleAddress(c.of, c.named); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.named, c.of, got, c.want)
		}
	}
}
