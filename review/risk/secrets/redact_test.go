package secrets

import (
	"strings"
	"testing"
)

// Parts, so that this file holds no secret.
var (
	token = "ghp_" + "x7Kq2Vw9Zr4Tn8Ly1Mb6Jd3Hs5Pf0GcAaB9e"
	key   = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAq7x2Vw9Zr4Tn8Ly1Mb6Jd3Hs5Pf0\n", 4) + "-----END RSA PRIVATE" + " KEY-----"
)

func TestRedactReplacesEverySecretAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		text, want string
		count      int
	}{
		{"", "", 0},
		{"Fix the login\n\nIt forgets the name.\n", "Fix the login\n\nIt forgets the name.\n", 0},
		{"push with " + token + " please", "push with " + Removed + " please", 1},
		{"a\n" + key + "\nb", "a\n" + Removed + "\nb", 1},
		{strings.Repeat(token+"\n", 40), strings.Repeat(Removed+"\n", 40), 40},
	} {
		got, count := Redact(c.text)
		if got != c.want || count != c.count {
			t.Errorf("Redact(%q) = %q, %d; want %q, %d", c.text, got, count, c.want, c.count)
		}
	}
}

func TestRedactRemovesATextThatIsTooLongToSearch(t *testing.T) {
	text := strings.Repeat("token = ", 4<<20) + token
	if got, count := Redact(text); got != Removed || count != 1 {
		t.Errorf("%d bytes are left, %d secrets", len(got), count)
	}
}

func FuzzARedactedTextHoldsNoSecret(f *testing.F) {
	f.Add("password = ", "\n", token)
	f.Add("Authorization: Bearer ", " ", Removed)
	f.Fuzz(func(t *testing.T, before, between, after string) {
		text, count := Redact(before + token + between + after + key)
		if strings.Contains(text, token) && count == 0 {
			t.Fatalf("nothing was replaced in %q", text)
		}
		again, _ := Redact(text)
		if again != text {
			t.Fatalf("%q is %q after a second time", text, again)
		}
	})
}
