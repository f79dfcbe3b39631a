package sandbox

import "testing"

func FuzzATokenThatIsAcceptedIsThatOfItsSandbox(f *testing.F) {
	for _, seed := range []string{"", "x", makeToken("0dq4f-sandbox"), makeToken("../etc"), makeToken("00001-code") + "=", "AA==", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseToken(text)
		if err != nil {
			return
		}
		if again, err := parseToken(makeToken(id)); err != nil || again != id || (id == "") != (text == "") {
			t.Errorf("%q is %q, whose own token is %q (%v)", text, id, again, err)
		}
	})
}
