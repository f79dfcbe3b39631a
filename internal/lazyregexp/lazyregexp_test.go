package lazyregexp

import "testing"

func TestAnInvalidTextPanicsInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepts an invalid text")
		}
	}()
	New(`(`)
}

func TestALazyExpressionMatchesAsAnyOther(t *testing.T) {
	r := New(`^a(b+)c$`)
	if !r.MatchString("abbc") || r.MatchString("ac") || !r.Match([]byte("abc")) || r.Match([]byte("x")) {
		t.Error("it matches something else")
	}
	if got := r.FindStringSubmatch("abbc"); len(got) != 2 || got[1] != "bb" {
		t.Errorf("it finds %q", got)
	}
	if got := r.FindAllStringSubmatch("abbc", -1); len(got) != 1 || got[0][1] != "bb" {
		t.Errorf("it finds %q", got)
	}
	if got := r.ReplaceAllString("abc", "<$1>"); got != "<b>" {
		t.Errorf("it makes %q", got)
	}
}
