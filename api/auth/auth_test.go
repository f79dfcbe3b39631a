package auth

import (
	"context"
	"slices"
	"strings"
	"testing"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/fault"
)

func TestACallerHasOnlyItsRights(t *testing.T) {
	c := Caller{Rights: []aiboxv1.Right{aiboxv1.Right_RIGHT_READ, aiboxv1.Right_RIGHT_UNSPECIFIED}}
	if c.Check(aiboxv1.Right_RIGHT_READ) != nil {
		t.Error("it lacks its right")
	}
	for _, right := range append(Rights(), aiboxv1.Right_RIGHT_UNSPECIFIED) {
		if right != aiboxv1.Right_RIGHT_READ && fault.KindOf(c.Check(right)) != fault.Refused {
			t.Errorf("it has the right %v", right)
		}
	}
	if none := From(context.Background()); none.Tenant != "" || len(none.Rights) > 0 {
		t.Errorf("a context without a caller has %v", none)
	}
}

func TestRightsAreReadBackFromTheirNames(t *testing.T) {
	for _, right := range Rights() {
		if got, err := ParseRight(RightName(right)); got != right || err != nil {
			t.Errorf("%v is read back as %v: %v", right, got, err)
		}
	}
	for _, wrong := range []string{"", "unspecified", "READ", "RIGHT_READ", "all"} {
		if _, err := ParseRight(wrong); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q is a right", wrong)
		}
	}
}

func TestTokensAreRandomAndOnlyTheirOwnFormIsHashed(t *testing.T) {
	var seen []string
	for range 100 {
		token := NewToken()
		hash, ok := Hash(token)
		if !ok || slices.Contains(seen, hash) {
			t.Fatalf("the token %q has the hash %q", token, hash)
		}
		seen = append(seen, hash)
	}
	for _, wrong := range []string{"", "aibox_", "Bearer x", NewToken() + "x", NewToken()[1:]} {
		if _, ok := Hash(wrong); ok {
			t.Errorf("%q is a token", wrong)
		}
	}
}

func FuzzHash(f *testing.F) {
	f.Add("aibox_" + strings.Repeat("A", 43))
	f.Add("AIBOX_" + strings.Repeat("A", 43))
	f.Add("aibox_" + strings.Repeat("A", 44))
	f.Fuzz(func(t *testing.T, token string) {
		hash, ok := Hash(token)
		if ok != (len(token) == 49 && strings.HasPrefix(token, "aibox_")) || ok != (len(hash) == 64) || strings.Contains(hash, "aibox_") {
			t.Errorf("%q has the hash %q, %v", token, hash, ok)
		}
	})
}
