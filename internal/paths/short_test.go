package paths

import "testing"

func TestPathBelowHomeIsShownWithATilde(t *testing.T) {
	for _, c := range []struct{ home, path, want string }{
		{"/home/ann", "/home/ann/shop", "~/shop"},
		{"/home/ann", "/home/ann", "~"},
		{"/home/ann", "/home/anna/shop", "/home/anna/shop"},
		{"/home/ann", "/srv/shop", "/srv/shop"},
		{"/home/ann", "", ""},
		{"/", "/srv", "/srv"},
		{"", "/srv", "/srv"},
	} {
		t.Setenv("HOME", c.home)
		if got := Short(c.path); got != c.want {
			t.Errorf("at home in %q, %q is written %q, not %q", c.home, c.path, got, c.want)
		}
	}
}
