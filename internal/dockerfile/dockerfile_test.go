package dockerfile

import "testing"

func TestIsReference(t *testing.T) {
	for text, want := range map[string]bool{
		"debian": true, "registry.example:5000/a/b:Tag_1.2": true, "debian@sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": true,
		"": false, "-debian": false, "Debian": false, "a b": false, "a\nRUN x": false, "a@sha256:0": false, "$(x)": false,
	} {
		if IsReference(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func TestIsVersion(t *testing.T) {
	for text, want := range map[string]bool{"1.18.33": true, "0.0.1790142911-g7618fb": true, "": false, "latest": false, "v1": false, "1;x": false, "1\n": false, "1 2": false} {
		if IsVersion(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{"FROM x\nARG VERSION=1.2\nRUN y\n": "1.2", "FROM x\n": "", "ARG VERSION\n": "", "# ARG VERSION=1\n": ""} {
		if got := Version(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
