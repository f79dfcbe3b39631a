package lazyregexp

import (
	"slices"
	"strings"
	"testing"
)

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
	if got := r.ReplaceAllStringFunc("abbc", strings.ToUpper); got != "ABBC" {
		t.Errorf("it makes %q", got)
	}
	if got := r.FindSubmatch([]byte("abbc")); len(got) != 2 || string(got[1]) != "bb" {
		t.Errorf("it finds %q", got)
	}
	want := []int{0, 4, 1, 3}
	if got := r.FindStringSubmatchIndex("abbc"); !slices.Equal(got, want) {
		t.Errorf("it finds %d", got)
	}
	if got := r.FindAllStringSubmatchIndex("abbc", -1); len(got) != 1 || !slices.Equal(got[0], want) {
		t.Errorf("it finds %d", got)
	}
}
